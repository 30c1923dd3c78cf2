/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of lat_stats alone. */
#ifndef COMMON_OPTION_STATS_H
#define COMMON_OPTION_STATS_H

#include <stdint.h>

/* --tolerance: one of them */
struct option_tolerance {
	double percent;
	uint64_t ns;
};

struct stats_settings {
	uint64_t hiccup; /* median deviations */
	uint64_t format; /* enum convert_format */
	const char *output;
	struct option_tolerance tolerance;
	char **files; /* the arguments, a command with them */
	int file_count;
};

#endif
