/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dumps and texts as series, and what their analysis says: lost laps, pauses, CPUs, both ends. */
#include "analysis_report.h"
#include "dumps.h"
#include "ping_pong_run.h"

#define LAPS   400
#define WARMUP 10

struct fixture {
	char dir[32], path[64];
	struct ping_pong *p;
	enum plant where[LAPS];
	double delay[LAPS];
	uint64_t cpu[2][LAPS];
	struct series_set set;
	struct error err;
};

static int fixture_open(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	dir_open(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/x.dump", f->dir);
	f->p = pp_open(LAPS);
	error_init(&f->err, "x");
	*state = f;
	return 0;
}

static int fixture_close(void **state)
{
	struct fixture *f = *state;

	series_close(&f->set);
	series_close(&f->set);
	pp_close(f->p);
	dir_close(f->dir);
	free(f);
	return 0;
}

/* A dump of both ends as it would come from a run; loaded. */
static void load(struct fixture *f, bool detail, bool paced, bool cpu)
{
	json_t *facts = dump_facts();
	struct dump_series s[2];

	for (int e = 0; e < 2; e++) {
		s[e] = (struct dump_series){ .role = e ? DUMP_SERVER : DUMP_CLIENT,
					     .kind = LATENCY_HALF_RTT,
					     .size = 8,
					     .run = 1,
					     .laps = LAPS,
					     .warmup = WARMUP,
					     .ends_seen = paced && !e,
					     .count = { LAPS + !e },
					     .v = { f->p->post[e], f->p->seen[e], f->p->gap[e],
						    NULL, f->cpu[e] } };
		s[e].count[DUMP_SEEN] = detail || (paced && !e) ? LAPS : 0;
		s[e].count[DUMP_GAP] = detail ? LAPS : 0;
		s[e].count[DUMP_CPU] = cpu ? LAPS : 0;
	}
	assert_int_equal(dump_write(f->path, facts, s, 2, &f->err), 0);
	json_decref(facts);
	if (series_load(&f->set, f->path, &f->err))
		fail_msg("%s", f->err.text);
	assert_int_equal(f->set.count, 2);
}

static void analyse(struct fixture *f, struct analysis *a, int end)
{
	const struct series *s = &f->set.v[end];

	assert_int_equal(analysis_run(a, s, 10, &f->err), 0);
	assert_int_equal(analysis_place(a, series_partner(&f->set, s), &f->err), 0);
}

static void test_both_ends(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	f->where[WARMUP + 200] = PLANT_BACK;
	f->delay[WARMUP + 200] = 1e-4;
	f->where[3] = PLANT_OUT; /* in the warm-up: not a sample */
	f->delay[3] = 1e-3;
	pp_run(f->p, f->where, f->delay, 3);
	load(f, true, false, false);
	for (int end = 0; end < 2; end++) {
		analyse(f, &a, end);
		assert_int_equal(a.s->server, end);
		assert_int_equal(a.stats.n, LAPS - WARMUP - end);
		assert_int_equal(a.stats.max_at, 201);
		assert_int_equal(a.hiccups.count, 1);
		assert_int_equal(a.hiccups.kept[0].lap, 200);
		assert_int_equal(a.hiccups.kept[0].where, HICCUP_BACK);
		assert_true(fabs(a.s->hz - (end ? 3e9 : 2.5e9)) < 1);
		assert_false(a.cpus);
		analysis_close(&a);
		analysis_close(&a);
	}
}

/* Numbers stay those of the laps where some of them have no sample. */
static void test_lost_laps(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	f->where[WARMUP + 200] = PLANT_OUT;
	f->delay[WARMUP + 200] = 1e-4;
	pp_run(f->p, f->where, f->delay, 3);
	for (int i = 0; i < 5; i++)
		f->p->post[0][WARMUP + 50 + i] |= DUMP_LOST;
	load(f, false, false, false);
	analyse(f, &a, 0);
	assert_int_equal(a.s->lost, 5);
	assert_int_equal(a.stats.n, LAPS - WARMUP - 5);
	assert_int_equal(a.stats.max_at, 196);
	assert_true(a.stats.max < 1000000);
	assert_int_equal(series_lap(a.s, a.hiccups.kept[0].lap), 200);
	assert_int_equal(a.hiccups.kept[0].where, HICCUP_OUT_OR_SERVER);
	analysis_close(&a);
}

/* With a pause between laps a sample ends at seen, and the server has none. */
static void test_paced(void **state)
{
	struct fixture *f = *state;
	struct analysis a;
	uint64_t v[2], back = 0;

	pp_run(f->p, f->where, f->delay, 3);
	for (uint64_t k = 0; k <= LAPS; k++) { /* a pause of 2^30 ticks before each post */
		f->p->post[0][k] += k << 30;
		if (k < LAPS)
			f->p->seen[0][k] += k << 30;
	}
	load(f, false, true, false);
	assert_int_equal(f->set.v[1].n, 0);
	assert_null(series_partner(&f->set, &f->set.v[0]));
	assert_int_equal(series_read(&f->set.v[0], 7, 1, v, &back, &f->err), 0);
	assert_int_equal(v[0], f->p->part[0][WARMUP + 7].wait);
	analyse(f, &a, 0);
	assert_int_equal(a.stats.n, LAPS - WARMUP);
	assert_true(a.stats.max < 1 << 20);
	analysis_close(&a);
	analyse(f, &a, 1);
	assert_int_equal(a.stats.n, 0);
	analysis_close(&a);
}

static void test_cpus(void **state)
{
	struct fixture *f = *state;
	struct analysis a;
	json_t *o, *h;

	f->where[WARMUP + 200] = PLANT_CLIENT_POLL;
	f->delay[WARMUP + 200] = 1e-4;
	pp_run(f->p, f->where, f->delay, 3);
	for (uint64_t k = 0; k < LAPS; k++) {
		f->cpu[0][k] = 3;
		f->cpu[1][k] = k < WARMUP + 200 ? 5 : 6;
	}
	f->cpu[0][WARMUP + 200] |= DUMP_CPU_LOST;
	load(f, true, false, true);
	analyse(f, &a, 0);
	assert_true(a.cpus);
	assert_int_equal(a.hiccups.n, 1);
	assert_true(a.hiccups.kept[0].switched[0] && !a.hiccups.kept[0].switched[1]);
	assert_true(!a.hiccups.kept[0].moved[0] && a.hiccups.kept[0].moved[1]);
	o = analysis_json(&a);
	h = json_array_get(json_object_get(o, "hiccups"), 0);
	assert_string_equal(json_string_value(json_object_get(h, "where")), "client");
	assert_int_equal(json_array_size(json_object_get(h, "switched_out")), 1);
	json_decref(o);
	analysis_close(&a);
}

static void write_text(struct fixture *f, const char *text)
{
	FILE *out;

	snprintf(f->path, sizeof(f->path), "%s/x.txt", f->dir);
	out = fopen(f->path, "w");
	fputs(text, out);
	fclose(out);
	if (series_load(&f->set, f->path, &f->err))
		fail_msg("%s", f->err.text);
}

/* -U and -H in one text are one series; -H alone has no order. */
static void test_texts(void **state)
{
	struct fixture *f = *state;
	struct analysis a;
	json_t *o, *r;

	write_text(f, "# unsorted, 3 samples\n#, usec\n1, 3\n2, 1\n3, 2.5\n"
		      "# sorted, 3 samples\n#, usec\n1, 1\n2, 2.5\n3, 3\n");
	assert_int_equal(f->set.count, 1);
	assert_false(f->set.v[0].sorted);
	assert_null(series_partner(&f->set, &f->set.v[0]));
	assert_true(isnan(analysis_factor(&f->set.v[0], true)));
	assert_true(fabs(analysis_factor(&f->set.v[0], false) - 1e-6) < 1e-15);
	analyse(f, &a, 0);
	o = analysis_json(&a);
	r = json_array_get(json_object_get(o, "results"), 0);
	assert_true(json_real_value(json_object_get(r, "median_usec")) == 2.5);
	assert_true(json_is_null(json_object_get(r, "median_cycles")));
	assert_true(json_is_null(json_object_get(r, "p99_usec")));
	assert_true(json_is_null(json_object_get(r, "median_ci95_usec")));
	assert_true(json_is_null(json_object_get(r, "size")));
	json_decref(o);
	analysis_close(&a);
	write_text(f, "# sorted, 3 samples\n#, cycles\n1, 10\n2, 25\n3, 30\n");
	assert_int_equal(f->set.count, 2);
	assert_true(f->set.v[1].sorted);
	analyse(f, &a, 1);
	assert_true(a.stats.median == 25 && a.startup.laps == 0 && a.hiccups.count == 0);
	assert_true(analysis_cycles(a.s, false));
	analysis_close(&a);
}

static void test_ticks(void **state)
{
	(void)state;
	assert_int_equal(analysis_tick(250.9), 250);
	assert_int_equal(analysis_tick(99.5), 100);
	assert_int_equal(analysis_tick(1003), 1000);
	assert_int_equal(analysis_tick(260), 0);
	assert_int_equal(analysis_tick(NAN), 0);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, fixture_open, fixture_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_both_ends), TEST(test_lost_laps), TEST(test_paced),
		TEST(test_cpus),      TEST(test_texts),	    cmocka_unit_test(test_ticks),
	};

	return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
