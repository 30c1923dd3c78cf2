/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much of a lap lies between the device's completion of the awaited message and the host
 * seeing it, from the device column of --hw-timestamps. The two clocks have nothing in common, so
 * their relation is taken from the laps themselves: doc/dump.md, "The device's time".
 */
#ifndef COMMON_DEVICE_TIME_H
#define COMMON_DEVICE_TIME_H

#include "series.h"
#include "stats.h"

/* host - host0 = base + slope * (device - device0), on or below every lap's. */
struct device_line {
	uint64_t device0, host0;
	double base, slope;
};

/*
 * Of all lines with no lap below the one that is nearest to them all: n laps, device ascending.
 * 0, -EINVAL where no line can be laid (less than two moments of the device), -ENOMEM. Pure.
 */
int device_line_fit(const uint64_t *device, const uint64_t *host, size_t n,
		    struct device_line *out);
/* Host units that the lap was seen later than the line says; 0 for the quickest. */
double device_line_late(const struct device_line *l, uint64_t device, uint64_t host);

struct device_time {
	uint64_t laps;	   /* that are known; 0: no device column, or too few laps */
	uint64_t out;	   /* left out: around a step back of the device's clock */
	double hz;	   /* of the device's clock, by the host's; NAN: the host's is not known */
	struct stats late; /* host units, beyond the quickest lap's; percentiles to 0.4 % */
	double after;	   /* median from the completion to the next post, host units */
};

/*
 * All laps of a series of a dump. @after[i], for the ascending sample numbers @sample[n]: host
 * units from the device's completion to the next post, NAN where unknown. 0 or -1.
 */
int device_time_run(struct device_time *t, const struct series *s, const uint64_t *sample, size_t n,
		    double *after, struct error *err);

#endif
