/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All that lat_stats finds out of one series. Figures are in the series' own values. */
#ifndef COMMON_ANALYSIS_H
#define COMMON_ANALYSIS_H

#include "changes.h"
#include "device_time.h"
#include "hiccups.h"
#include "histogram.h"
#include "interval.h"
#include "modes.h"
#include "periods.h"
#include "series.h"
#include "startup.h"

#define ANALYSIS_LEVEL	 0.95
#define ANALYSIS_EXACT	 (1u << 24) /* samples up to here are sorted; beyond, a histogram */
#define ANALYSIS_THIN	 65536u
#define ANALYSIS_CHANGES 50
#define ANALYSIS_PERIODS 4
#define ANALYSIS_HICCUPS 1000 /* the worst that are kept */
#define ANALYSIS_STRIP	 80

/* One cell of the time strip. */
struct strip {
	double median, max;
};

struct analysis {
	const struct series *s;
	struct stats stats; /* n 0: no samples; the rest is not filled then */
	bool exact;	    /* else percentiles are off by at most 0.4 % */
	uint64_t backwards; /* steps of the clock back */
	struct interval interval;
	struct modes modes;
	double deviation; /* median deviation from the level of that part of the run */
	struct startup startup;
	struct change change[ANALYSIS_CHANGES];
	size_t changes;
	struct period period[ANALYSIS_PERIODS];
	size_t periods;
	struct hiccups hiccups;
	double hiccup_level; /* K */
	struct device_time device;
	bool cpus;	     /* switched and moved are known of each */
	struct histogram *histogram;
	uint64_t *thin; /* ascending, thin_n: the samples, or every so many of them */
	size_t thin_n;
	struct strip strip[ANALYSIS_STRIP];
	unsigned int cells;
};

/* @k: hiccups are samples over their level by k median deviations. 0 or -1. */
int analysis_run(struct analysis *a, const struct series *s, double k, struct error *err);
/* Fine on a zeroed struct. */
void analysis_close(struct analysis *a);
/*
 * Where each hiccup happened, and what the device's time says; @partner: the other end's series,
 * or NULL. 0 or -1.
 */
int analysis_place(struct analysis *a, const struct series *partner, struct error *err);

/* The level of the part of the run that a sample is in. */
double analysis_level(const struct analysis *a, uint64_t k);
/* What depends on the order of the samples. */
int analysis_order(struct analysis *a, double k, struct error *err);

#endif
