/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A finished run with known numbers: 1 GHz, so that a cycle is a nanosecond. */
#ifndef TESTS_REPORTS_H
#define TESTS_REPORTS_H

#include "cycles_json.h"
#include "report.h"
#include "report_keys.h"
#include "unit.h"

#define RESULTS 2
#define SAMPLES 1000

struct fixture {
	struct report r;
	struct settings set;
	struct clock_cert clock;
	struct endpoint endpoint;
	struct error err;
	struct lap_result results[RESULTS];
	uint64_t samples[RESULTS][SAMPLES];
};

static const char *const fixture_sections[] = { BENCH_LATENCY_SECTIONS, NULL };

static const struct option_program fixture_program = {
	.name = "rdma_lat", .summary = "tests", .mask = FOR_PAIR | FOR_LAT | FOR_CLOCK,
	.argument = "HOST", .sections = fixture_sections,
};

/* Results of @n samples: 2000, 2020, 2040, ... times i + 1, in an order of their own. */
static inline void fixture_samples(struct fixture *f, unsigned int i, uint64_t n)
{
	struct lap_result *res = &f->results[i];

	memset(res, 0, sizeof(*res));
	for (uint64_t k = 0; k < n; k++)
		f->samples[i][k] = (2000 + 20 * ((7 * k + 3) % n)) * (i + 1);
	res->size = i ? 4096 : 8;
	res->warmup = 100;
	res->laps = res->samples = n;
	res->first_exchange = n ? 12345 : 0;
	res->sample = n ? f->samples[i] : NULL;
	if (n)
		assert_int_equal(stats_summarise(f->samples[i], n, &res->stats), 0);
}

static inline struct fixture *fixture_open(void)
{
	char *argv[] = { (char *)(uintptr_t)"rdma_lat", (char *)(uintptr_t)"host", NULL };
	struct fixture *f = calloc(1, sizeof(*f));

	error_init(&f->err, "rdma_lat");
	assert_int_equal(options_parse(&fixture_program, 2, argv, &f->set, &f->err), 0);
	f->clock = (struct clock_cert){ .name = "tsc", .hz = 1e9, .ppm = 0.5, .trusted = true,
					.why = "the CPU says invariant", .independent = true,
					.invariant_known = true, .invariant = true,
					.hz_before = 999998e3, .hz_after = 1000001e3,
					.between_ppm = 3, .read_ns = 20, .resolution_ns = 1 };
	f->endpoint = (struct endpoint){ .qp_count = 1, .inline_asked = 8, .inline_granted = 60,
					 .post = POST_WR, .in_order = -1 };
	f->r = (struct report){
		.program = &fixture_program, .settings = &f->set, .err = &f->err,
		.operation = "RDMA WRITE", .kind = LATENCY_HALF_RTT, .clock = &f->clock,
		.endpoint = &f->endpoint, .mtu = 1024, .grh = true,
		.setup = { 1, 2, 3, 4, 5 }, .time = "2026-01-31T12:00:00Z",
		.results = f->results, .result_count = 1,
	};
	f->r.local = json_pack("{s:s,s:s,s:i,s:s,s:s,s:i}", "host", "host-a", "device", "rxe0",
			       "port", 1, "link_layer", "Ethernet", "software", "rxe", "cpu", 3);
	json_object_set_new(f->r.local, "clock", clock_cert_json(&f->clock));
	f->r.remote = json_pack("{s:s,s:s,s:i,s:s,s:n,s:n}", "host", "host-b", "device", "mlx5_0",
				"port", 2, "link_layer", "InfiniBand", "software", "cpu");
	for (unsigned int i = 0; i < RESULTS; i++)
		fixture_samples(f, i, SAMPLES);
	return f;
}

static inline void fixture_close(struct fixture *f)
{
	json_decref(f->r.local);
	json_decref(f->r.remote);
	error_free(&f->err);
	free(f);
}

static inline int fixture_setup(void **state)
{
	*state = fixture_open();
	return 0;
}

static inline int fixture_teardown(void **state)
{
	fixture_close(*state);
	return 0;
}

/* What a print function gives, malloc'ed. */
static inline char *fixture_text(const struct fixture *f,
				 void (*print)(FILE *out, const struct report *r))
{
	FILE *out = tmpfile();

	assert_non_null(out);
	print(out, &f->r);
	return file_text(out);
}

/* No number that is none, and none below 0. */
static inline void assert_sane(const char *text)
{
	assert_lacks(text, "nan");
	assert_lacks(text, " inf");
	for (const char *c = text; (c = strchr(c, '-')); c++)
		if (c > text && strchr(" ,:[\n", c[-1]) && c[1] >= '0' && c[1] <= '9')
			fail_msg("a negative number: %.20s", c);
}

#define WITH_REPORT(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

#endif
