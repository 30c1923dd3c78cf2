/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cycles.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "stats.h"
#include "sysfs.h"

/*
 * PAIRS readings over SPAN, each with the one LAG later a window: LAG windows that overlap, each
 * half as long as the whole. Reading costs and the tries come on top, below 20 ms in all.
 */
#define SPAN_NS	      14000000
#define PAIRS	      13
#define LAG	      6
#define WINDOWS	      (PAIRS - LAG)
#define PAIR_TRIES    16
#define COST_READS    16
#define COST_TRIES    8
#define STEP_READS    256
#define NS_PER_SECOND 1e9

static const char stepped_back[] = "it stepped back";

static uint64_t real_counter(void *arg)
{
	(void)arg;
	return cycles_tsc();
}

static uint64_t real_unordered(void *arg)
{
	(void)arg;
	return cycles_tsc_unordered();
}

static uint64_t real_raw_ns(void *arg)
{
	(void)arg;
	return cycles_gettime();
}

/* AMD and Intel: CPUID 8000_0007h, EDX bit 8. The others define a counter of constant rate. */
static int real_invariant(void *arg)
{
	int known = CYCLES_HAVE_COUNTER ? 1 : -1;

	(void)arg;
#if defined(__x86_64__) || defined(__i386__)
	unsigned int a, b, c, d;

	known = __get_cpuid(0x80000007, &a, &b, &c, &d) ? (int)(d >> 8 & 1) : -1;
#endif
	return known;
}

const struct clock_ops *clock_ops_real(void)
{
	static const struct clock_ops ops = {
		.counter = real_counter,
		.unordered = real_unordered,
		.raw_ns = real_raw_ns,
		.invariant = real_invariant,
		.name = CYCLES_KERNEL_NAME,
		.sys_root = "",
	};

	return &ops;
}

enum clock_source clock_source_default(void)
{
	return CYCLES_HAVE_COUNTER ? CLOCK_SRC_COUNTER : CLOCK_SRC_GETTIME;
}

int clock_source_parse(const char *name, enum clock_source *source)
{
	if (!strcmp(name, "gettime")) {
		*source = CLOCK_SRC_GETTIME;
		return 0;
	}
	if (strcmp(name, "tsc") && strcmp(name, CYCLES_NAME))
		return -EINVAL;
	if (!CYCLES_HAVE_COUNTER)
		return -ENOTSUP;
	*source = CLOCK_SRC_COUNTER;
	return 0;
}

static uint64_t ops_read(enum clock_source source, const struct clock_ops *ops, bool ordered)
{
	if (source == CLOCK_SRC_GETTIME)
		return ops->raw_ns(ops->arg);
	return ordered ? ops->counter(ops->arg) : ops->unordered(ops->arg);
}

void clock_pair_read(enum clock_source source, const struct clock_ops *ops, struct clock_pair *p)
{
	if (!ops)
		ops = clock_ops_real();
	*p = (struct clock_pair){ .gap = UINT64_MAX };
	/* An interrupt between the reads makes the bracket long: the shortest of a few is free of
	 * it. */
	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = ops_read(source, ops, true);
		uint64_t raw = ops->raw_ns(ops->arg);
		uint64_t gap = ops_read(source, ops, true) - before;

		if (gap < p->gap)
			*p = (struct clock_pair){ before + gap / 2, raw, gap };
	}
}

/* Pairs, SPAN / (PAIRS - 1) apart, fewer when something else had the CPU: their number. */
static unsigned int pairs_collect(const struct clock_ops *ops, struct clock_pair *p)
{
	uint64_t start = ops->raw_ns(ops->arg), now;
	unsigned int n = 0;

	do {
		uint64_t due = n * (uint64_t)(SPAN_NS / (PAIRS - 1));

		while ((now = ops->raw_ns(ops->arg) - start) < due)
			;
		clock_pair_read(CLOCK_SRC_COUNTER, ops, &p[n++]);
	} while (n < PAIRS && (n < 2 || now < SPAN_NS));
	return n;
}

static double pair_rate(const struct clock_pair *from, const struct clock_pair *to)
{
	if (to->raw_ns <= from->raw_ns || to->counter <= from->counter)
		return 0;
	return (double)(to->counter - from->counter) * NS_PER_SECOND /
	       (double)(to->raw_ns - from->raw_ns);
}

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median and spread of the rates over the windows. */
static int rate_measure(const struct clock_ops *ops, struct clock_cert *cert)
{
	struct clock_pair pairs[PAIRS];
	double rate[WINDOWS + LAG];
	unsigned int n = pairs_collect(ops, pairs), lag = n / 2;

	for (unsigned int i = 1; i < n; i++)
		cert->backwards += pairs[i].counter < pairs[i - 1].counter;
	cert->windows = n - lag;
	for (unsigned int i = 0; i < cert->windows; i++)
		rate[i] = pair_rate(&pairs[i], &pairs[i + lag]);
	qsort(rate, cert->windows, sizeof(*rate), double_compare);
	cert->start = pairs[0];
	cert->hz = rate[cert->windows / 2];
	if (cert->hz <= 0)
		return -EIO;
	cert->spread_ppm = (rate[cert->windows - 1] - rate[0]) / cert->hz * 1e6;
	cert->ppm = cert->spread_ppm;
	return 0;
}

static double cost_measure(const struct clock_cert *cert, const struct clock_ops *ops, bool ordered)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < COST_TRIES; i++) {
		uint64_t start = ops_read(cert->source, ops, ordered), end = start;

		for (int k = 0; k < COST_READS; k++)
			end = ops_read(cert->source, ops, ordered);
		if (end - start < best)
			best = end - start;
	}
	return (double)best / COST_READS * NS_PER_SECOND / cert->hz;
}

/*
 * Smallest step of ascending differences between reads. A counter that advances by 20.96 units
 * shows 20, 21, 41, 42: so neighbours form a group, and groups are a step apart. A group wider
 * than rounding makes is a counter that takes every value.
 */
static double step_find(const uint64_t *diff, size_t n)
{
	double step = INFINITY, last = 0;

	for (size_t i = 0; i < n;) {
		size_t first = i;
		double sum = 0;

		do {
			sum += (double)(diff[i] - diff[first]);
			i++;
		} while (i < n && diff[i] - diff[i - 1] <= 1);
		if (!diff[i - 1])
			continue; /* reads within one step */
		if (diff[first] <= 1 || diff[i - 1] - diff[first] > 2)
			return 1;
		sum = sum / (double)(i - first) + (double)diff[first];
		step = fmin(step, sum - last);
		last = sum;
	}
	return isfinite(step) ? step : 0;
}

static double resolution_measure(const struct clock_cert *cert, const struct clock_ops *ops)
{
	uint64_t v[STEP_READS + 1], scratch[STEP_READS];

	for (int i = 0; i <= STEP_READS; i++)
		v[i] = ops_read(cert->source, ops, false);
	for (int i = 0; i < STEP_READS; i++)
		v[i] = v[i + 1] > v[i] ? v[i + 1] - v[i] : 0;
	sort_u64(v, STEP_READS, scratch);
	return step_find(v, STEP_READS) * NS_PER_SECOND / cert->hz;
}

/* Paravirtual clocks scale the TSC by factors from the host. */
static bool kernel_clock_scaled(const char *counter, const char *kernel)
{
	static const char *const scaled[] = { "kvm-clock", "xen", "hyperv_clocksource_tsc_page" };

	for (size_t i = 0; i < sizeof(scaled) / sizeof(*scaled); i++)
		if (!strcmp(counter, "tsc") && !strcmp(kernel, scaled[i]))
			return true;
	return false;
}

static void trust_judge(struct clock_cert *cert, const struct clock_ops *ops)
{
	int invariant = ops->invariant(ops->arg);
	char kernel[64];

	if (!sysfs_read_line(ops->sys_root,
			     "devices/system/clocksource/clocksource0/current_clocksource", kernel,
			     sizeof(kernel)))
		kernel[0] = '\0';
	cert->kernel_clock = kernel[0] && !strcmp(kernel, ops->name);
	cert->independent = !cert->kernel_clock && !kernel_clock_scaled(ops->name, kernel);
	cert->invariant_known = invariant >= 0;
	cert->invariant = invariant > 0;
	cert->trusted = !cert->backwards && (cert->invariant || cert->kernel_clock);
	if (cert->backwards)
		cert->why = stepped_back;
	else if (cert->invariant)
		cert->why = "CPU says invariant";
	else if (cert->kernel_clock)
		cert->why = "kernel's clocksource";
	else
		cert->why = "nothing vouches for its rate";
}

int clock_calibrate(enum clock_source source, const struct clock_ops *ops, struct clock_cert *cert)
{
	int rc;

	if (!CYCLES_HAVE_COUNTER && !ops && source == CLOCK_SRC_COUNTER)
		return -ENOTSUP;
	if (!ops)
		ops = clock_ops_real();
	*cert = (struct clock_cert){ .source = source, .name = CYCLES_NAME };
	if (source == CLOCK_SRC_GETTIME) {
		cert->name = "gettime";
		cert->hz = NS_PER_SECOND; /* by definition: nothing is measured */
		cert->trusted = cert->independent = true;
		cert->why = "kernel's clock";
		clock_pair_read(source, ops, &cert->start);
	} else {
		rc = rate_measure(ops, cert);
		if (rc)
			return rc;
		cert->hz_before = cert->hz;
		trust_judge(cert, ops);
	}
	cert->read_ns = cost_measure(cert, ops, true);
	cert->unordered_read_ns = cost_measure(cert, ops, false);
	cert->resolution_ns = resolution_measure(cert, ops);
	return 0;
}

/* Where neither the CPU nor the kernel vouches for the rate, what was seen of it does. */
static void rate_judge(struct clock_cert *cert, bool held)
{
	if (cert->trusted)
		return;
	cert->trusted = held;
	cert->why = held ? "held within 100 ppm" : "its rate moved by more than 100 ppm";
}

void clock_cert_refine(struct clock_cert *cert, const struct clock_pair *t0,
		       const struct clock_pair *t1)
{
	double run = pair_rate(t0, t1), noise;
	bool held;

	if (cert->source == CLOCK_SRC_GETTIME)
		return;
	cert->backwards += t1->counter < t0->counter;
	if (cert->backwards) {
		cert->trusted = false;
		cert->why = stepped_back;
		return;
	}
	noise = run > 0 ? (double)(t0->gap + t1->gap) / 2 / (double)(t1->counter - t0->counter) : 1;
	if (noise * 1e6 > CLOCK_HOLDS_PPM)
		return; /* too short a run to say anything */
	cert->ppm = fabs(run / cert->hz - 1) * 1e6;
	held = cert->ppm <= CLOCK_HOLDS_PPM;
	cert->hz = held ? pair_rate(&cert->start, t1) : run;
	cert->refined = true;
	rate_judge(cert, held);
}

void clock_cert_again(struct clock_cert *cert, const struct clock_ops *ops)
{
	struct clock_cert after = { .source = cert->source };

	if (cert->source == CLOCK_SRC_GETTIME || !(cert->hz_before > 0) ||
	    rate_measure(ops ? ops : clock_ops_real(), &after))
		return;
	cert->hz_after = after.hz;
	cert->between_ppm = fabs(after.hz / cert->hz_before - 1) * 1e6;
	cert->backwards += after.backwards;
	if (cert->backwards) {
		cert->trusted = false;
		cert->why = stepped_back;
	} else if (!cert->refined) {
		rate_judge(cert, cert->between_ppm <= CLOCK_HOLDS_PPM);
	}
}
