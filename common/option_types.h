/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of options that are more than a number or a text. */
#ifndef COMMON_OPTION_TYPES_H
#define COMMON_OPTION_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#define OPTION_AUTO UINT64_MAX
#define SIZES_MAX 64

struct size_list {
	uint64_t v[SIZES_MAX];
	unsigned int count;
};

#define TEXTS_MAX 16

struct text_list {
	const char *v[TEXTS_MAX];
	unsigned int count;
};

/* --rate */
struct option_rate {
	uint64_t bits, messages; /* a second; one of them, or none: no limit */
};

/* --load */
struct option_load {
	struct option_rate rate;
	uint64_t sl, traffic_class; /* OPTION_AUTO: as the ping-pong's */
};

/* --flow-label */
struct option_flow {
	uint64_t label;
	bool counts; /* up with the QP */
};

#define OPTION_MCAST_MAX 48

/* --mcast */
struct option_mcast {
	char address[OPTION_MCAST_MAX]; /* "": no multicast */
};

/* --confidence and --runs */
struct option_confidence {
	double level, width; /* percent; width: of the whole interval. 0: not given */
};

struct option_runs {
	uint64_t least, most; /* 0: not given */
};

#endif
