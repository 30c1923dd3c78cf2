/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clock of the timed loops: the CPU's counter, or clock_gettime() where there is none, and
 * the certificate that says at which rate it runs and why that is believed. The rate is always
 * measured against CLOCK_MONOTONIC_RAW. What the CPU says of its MHz is another clock: not read.
 */
#ifndef CYCLES_H
#define CYCLES_H

#include <stdbool.h>
#include <stddef.h>

#include "cycles_arch.h"

/* Written once before a loop, so that the branch in cycles_read() folds away when inlined. */
enum clock_source { CLOCK_SRC_COUNTER, CLOCK_SRC_GETTIME };

/* Ordered read, in units of 1/hz s: ns for CLOCK_SRC_GETTIME. */
static inline uint64_t cycles_read(enum clock_source source)
{
	return source == CLOCK_SRC_COUNTER ? cycles_tsc() : cycles_gettime();
}

/* Counter and CLOCK_MONOTONIC_RAW at one moment, within `gap` counter units. */
struct clock_pair {
	uint64_t counter, raw_ns, gap;
};

/* Where readings come from; tests put a simulated machine here. */
struct clock_ops {
	uint64_t (*counter)(void *arg); /* ordered */
	uint64_t (*unordered)(void *arg);
	uint64_t (*raw_ns)(void *arg);
	int (*invariant)(void *arg); /* 1 yes, 0 no, -1 the CPU does not say */
	const char *name;	     /* of the counter, as the kernel's clocksource calls it */
	const char *sys_root;	     /* stands before /sys/...; "" on the machine itself */
	void *arg;
};

struct clock_cert {
	enum clock_source source;
	const char *name; /* tsc, cntvct, timebase, time, stck, gettime */
	double hz;	  /* refined by clock_cert_refine() */
	double ppm; /* largest spread of the windows; after refining: rate before against the run's */
	double hz_before, hz_after; /* of the calibrations before and after the run; 0: none */
	double between_ppm;	    /* between those two */
	double spread_ppm; /* of the windows of the calibration */
	unsigned int windows;
	bool invariant_known, invariant;
	bool kernel_clock; /* the kernel's clocksource is this counter */
	bool independent;  /* the rate was measured against another clock than itself */
	bool trusted;
	bool refined;
	uint64_t backwards; /* steps back that were seen; with one it is not trusted, ever */
	const char *why;    /* why trusted or not: a phrase */
	double read_ns, unordered_read_ns; /* cost of one read */
	double resolution_ns;		   /* smallest step */
	struct clock_pair start;	   /* when the calibration began */
};

#define CLOCK_HOLDS_PPM 100.0

const struct clock_ops *clock_ops_real(void);
enum clock_source clock_source_default(void);
/* "tsc" is the CPU's counter on every CPU. -EINVAL: unknown name; -ENOTSUP: no counter here. */
int clock_source_parse(const char *name, enum clock_source *source);

/* Busy for at most 20 ms. ops NULL: the real ones. -ENOTSUP: no counter; -EIO: it stands still. */
int clock_calibrate(enum clock_source source, const struct clock_ops *ops, struct clock_cert *cert);
/* The tightest of a few attempts, below 1 us where clock_gettime is no system call. */
void clock_pair_read(enum clock_source source, const struct clock_ops *ops, struct clock_pair *p);
/*
 * t0 before the first lap, t1 after the last: rate and trust from the run itself. Steps back that
 * the samples showed are added to cert->backwards first.
 */
void clock_cert_refine(struct clock_cert *cert, const struct clock_pair *t0,
		       const struct clock_pair *t1);
/*
 * After refining: calibrates once more, busy for at most 20 ms, and tells how far the two
 * calibrations are apart. A run too short to vouch for the rate is vouched for by them. Nothing to
 * do for CLOCK_SRC_GETTIME. ops NULL: the real ones.
 */
void clock_cert_again(struct clock_cert *cert, const struct clock_ops *ops);

#endif
