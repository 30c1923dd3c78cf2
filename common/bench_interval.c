/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --interval: a line of figures from the difference of two snapshots of a run's histogram. */
#include "bench_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct bench_interval {
	const struct bench *b;
	const struct lap_result *run;
	struct lap_interval hook;
	struct histogram before, between;
	uint64_t laps, start; /* of the interval, counter */
	unsigned int count;
	FILE *out;
};

static void print_figure(FILE *out, const char *name, double v, double factor)
{
	if (isnan(v))
		fprintf(out, ", %s -", name);
	else
		fprintf(out, ", %s %.3f", name, v * factor);
}

/* "interval 3: 1.000 s, 1234567 laps, usec, median 0.341, p99 0.520, p99.9 0.760, max 24.542" */
static void show(void *arg, const struct histogram *so_far, uint64_t laps, uint64_t now)
{
	struct bench_interval *v = arg;
	const struct bench *b = v->b;
	double usec = cycles_to_usec(1, b->cert.hz), factor = latency_factor(bench_kind(b));
	struct stats st = { .median = NAN, .p99 = NAN, .p99_9 = NAN };

	if (!b->set.cycles)
		factor *= usec;
	if (!v->count)
		v->start = v->run->start; /* not the warm-up's */
	if (!histogram_subtract(so_far, &v->before, &v->between) && v->between.count)
		histogram_summarise(&v->between, &st);
	fprintf(v->out, "interval %u: %.3f s, %llu laps, %s", ++v->count,
		(double)(now - v->start) * usec / 1e6, (unsigned long long)(laps - v->laps),
		b->set.cycles ? "cycles" : "usec");
	print_figure(v->out, "median", st.median, factor);
	print_figure(v->out, "p99", st.p99, factor);
	print_figure(v->out, "p99.9", st.p99_9, factor);
	print_figure(v->out, "max", v->between.count ? (double)st.max : NAN, factor);
	fputc('\n', v->out);
	fflush(v->out);
	v->before = *so_far;
	v->laps = laps;
	v->start = cycles_read(b->clock);
}

int bench_interval_open(struct bench *b, const struct lap_result *run,
			const struct lap_interval **hook)
{
	struct bench_interval *v;

	*hook = NULL;
	if (!b->set.interval_ns || b->server)
		return 0;
	v = b->interval = calloc(1, sizeof(*v));
	if (!v)
		return error_set(b->err, EXIT_FAILED, ENOMEM, "--interval");
	v->b = b;
	v->out = bench_stdout_taken(b) ? stderr : stdout;
	v->run = run;
	histogram_init(&v->before);
	v->hook = (struct lap_interval){ cycles_from_ns(b->set.interval_ns, b->cert.hz), show, v };
	*hook = &v->hook;
	return 0;
}

void bench_interval_close(struct bench *b)
{
	free(b->interval);
	b->interval = NULL;
}
