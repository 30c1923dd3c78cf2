/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hiccups: which samples, the worst of them, and where each happened, against planted ones. */
#include "hiccups.h"
#include "ping_pong_run.h"

#define LAPS  60000
#define EACH  100 /* planted of each kind */
#define DELAY 150e-6

static enum hiccup_where detail_truth(enum plant p)
{
	switch (p) {
	case PLANT_OUT:
		return HICCUP_OUT;
	case PLANT_BACK:
		return HICCUP_BACK;
	case PLANT_CLIENT_POLL:
	case PLANT_CLIENT_TURN:
	case PLANT_CLIENT_POST:
		return HICCUP_CLIENT;
	default:
		return HICCUP_SERVER;
	}
}

/*
 * What one stamp can say. A post that is late after its stamp reaches the other end like a message
 * that is long under way: the client's shows as out_or_server, the server's as back_or_client.
 */
static enum hiccup_where stamp_truth(enum plant p)
{
	switch (p) {
	case PLANT_OUT:
	case PLANT_SERVER_POLL:
	case PLANT_SERVER_TURN:
	case PLANT_CLIENT_POST:
		return HICCUP_OUT_OR_SERVER;
	default:
		return HICCUP_BACK_OR_CLIENT;
	}
}

static const enum plant four[] = { PLANT_OUT,	      PLANT_BACK,	 PLANT_CLIENT_POLL,
				   PLANT_CLIENT_TURN, PLANT_SERVER_POLL, PLANT_SERVER_TURN };
static const enum plant posts[] = { PLANT_CLIENT_POST, PLANT_SERVER_POST };

/* EACH of every kind at random laps, @apart laps between two at least. */
static void plant(enum plant *where, double *delay, const enum plant *kinds, size_t count,
		  uint64_t apart)
{
	uint64_t slot = LAPS / (EACH * count), k;
	struct draws d = { 5 };

	assert_true(slot > apart);
	memset(where, 0, LAPS * sizeof(*where));
	for (size_t i = 0; i < EACH * count; i++) {
		k = i * slot + (uint64_t)(draw_uniform(&d) * (double)(slot - apart));
		where[k] = kinds[i % count];
		delay[k] = DELAY * (0.5 + draw_uniform(&d));
	}
}

/* Hiccups of an end that are told as @truth says, of those that show at all. */
static void judge(const struct ping_pong *p, const enum plant *where, bool detail, bool server,
		  enum hiccup_where (*truth)(enum plant), const char *what)
{
	uint64_t shown = 0, right = 0;
	struct hiccup_ends e;

	pp_ends(p, detail, &e);
	for (uint64_t k = 0; k < p->samples[server]; k++) {
		double x = (double)p->part[server][k].lap / pp_hz[server] - e.lap[server];
		/* Of the server's sample: back and client of this lap, out and server of the next.
		 */
		bool here =
			where[k] && (!server || (stamp_truth(where[k]) == HICCUP_BACK_OR_CLIENT));
		enum plant planted = here ? where[k] : server ? where[k + 1] : PLANT_NONE;

		if (x < 20e-6)
			continue;
		assert_int_not_equal(planted, PLANT_NONE);
		shown++;
		right += hiccups_place(&e, server, k) == truth(planted);
	}
	print_message("# %s: %llu of %llu\n", what, (unsigned long long)right,
		      (unsigned long long)shown);
	assert_true(shown > 150);
	if (right * 100 < shown * 98)
		fail_msg("%s: %llu of %llu told rightly", what, (unsigned long long)right,
			 (unsigned long long)shown);
}

static void judge_all(const enum plant *kinds, size_t count, uint64_t apart)
{
	struct ping_pong *p = pp_open(LAPS);
	enum plant *where = calloc(LAPS, sizeof(*where));
	double *delay = calloc(LAPS, sizeof(*delay));

	plant(where, delay, kinds, count, apart);
	pp_run(p, where, delay, 77);
	judge(p, where, true, false, detail_truth, "client, two stamps");
	judge(p, where, true, true, detail_truth, "server, two stamps");
	judge(p, where, false, false, stamp_truth, "client, one stamp");
	judge(p, where, false, true, stamp_truth, "server, one stamp");
	pp_close(p);
	free(where);
	free(delay);
}

static void test_planted(void **state)
{
	(void)state;
	judge_all(four, COUNT(four), 3);
}

static void test_planted_in_posts(void **state)
{
	(void)state;
	judge_all(posts, COUNT(posts), 3);
}

/* Ways only, back to back for ten laps: what one lap has is not taken for the next one's. */
static void test_in_a_row(void **state)
{
	static const enum plant ways[] = {
		PLANT_OUT, PLANT_BACK, PLANT_BACK, PLANT_OUT,  PLANT_OUT,
		PLANT_OUT, PLANT_BACK, PLANT_OUT,  PLANT_BACK, PLANT_BACK
	};
	enum { N = 1000, AT = 500 };
	struct ping_pong *p = pp_open(N);
	enum plant where[N] = { 0 };
	double delay[N] = { 0 };
	struct hiccup_ends e;

	(void)state;
	for (size_t i = 0; i < COUNT(ways); i++) {
		where[AT + i] = ways[i];
		delay[AT + i] = DELAY * (1 + 0.1 * (double)(i % 3));
	}
	pp_run(p, where, delay, 3);
	for (int detail = 0; detail < 2; detail++) {
		pp_ends(p, detail, &e);
		for (size_t i = 0; i < COUNT(ways); i++)
			assert_int_equal(hiccups_place(&e, false, AT + i),
					 detail ? detail_truth(ways[i]) : stamp_truth(ways[i]));
	}
	pp_close(p);
}

/* The first lap and the last have a neighbour on one side only. */
static void test_ends_of_run(void **state)
{
	enum { N = 100 };

	(void)state;
	for (size_t kind = 0; kind < COUNT(four); kind++) {
		for (int detail = 0; detail < 2; detail++) {
			struct ping_pong *p = pp_open(N);
			enum plant where[N] = { [0] = four[kind], [N - 1] = four[kind] };
			double delay[N] = { [0] = DELAY, [N - 1] = DELAY };
			struct hiccup_ends e;

			pp_run(p, where, delay, 9);
			pp_ends(p, detail, &e);
			for (uint64_t k = 0; k < N; k += N - 1) {
				enum hiccup_where w = hiccups_place(&e, false, k);
				enum hiccup_where t =
					detail ? detail_truth(four[kind]) : stamp_truth(four[kind]);

				/* The server's gap and turn of lap 0 are before its first sample.
				 */
				if (k == 0 && detail && t == HICCUP_SERVER)
					t = HICCUP_OUT;
				/* No later sample of the server has the last lap's way back. */
				if (k && !detail && t == HICCUP_BACK_OR_CLIENT)
					t = w;
				if (w != t)
					fail_msg("kind %d, lap %d, detail %d: %s, wanted %s",
						 (int)four[kind], (int)k, detail,
						 hiccup_where_name(w), hiccup_where_name(t));
			}
			pp_close(p);
		}
	}
}

/* Half on each way; both CPUs away at once, as on one host that stops. */
static void test_both(void **state)
{
	enum { N = 200, AT = 100 };
	struct ping_pong *p = pp_open(N);
	enum plant where[N] = { [AT] = PLANT_OUT };
	double delay[N] = { [AT] = DELAY };
	struct hiccup_ends e;

	(void)state;
	pp_run(p, where, delay, 4);
	pp_ends(p, true, &e);
	p->part[0][AT].gap = (uint64_t)(DELAY * pp_hz[0]);
	p->part[1][AT - 1].gap = (uint64_t)(DELAY * pp_hz[1]);
	assert_int_equal(hiccups_place(&e, false, AT), HICCUP_BOTH);
	where[AT] = PLANT_NONE;
	pp_run(p, where, delay, 4);
	for (uint64_t k = AT - 1; k <= AT; k++)
		p->part[1][k].lap += (uint64_t)(DELAY * pp_hz[1]);
	p->part[0][AT].lap += (uint64_t)(2 * DELAY * pp_hz[0]);
	pp_ends(p, false, &e);
	assert_int_equal(hiccups_place(&e, false, AT), HICCUP_BOTH);
	pp_close(p);
}

/* One end alone knows its own CPU; a lap without an excess, or with one that nobody saw, nothing.
 */
static void test_unknown(void **state)
{
	enum { N = 200, AT = 100 };
	struct ping_pong *p = pp_open(N);
	enum plant where[N] = { [AT] = PLANT_CLIENT_POLL, [AT + 10] = PLANT_OUT };
	double delay[N] = { [AT] = DELAY, [AT + 10] = DELAY };
	struct hiccup_ends e;

	(void)state;
	pp_run(p, where, delay, 6);
	pp_ends(p, true, &e);
	e.server.n = 0;
	assert_int_equal(hiccups_place(&e, false, AT), HICCUP_CLIENT);
	assert_int_equal(hiccups_place(&e, false, AT + 10), HICCUP_UNKNOWN);
	e.client.detail = false;
	assert_int_equal(hiccups_place(&e, false, AT), HICCUP_UNKNOWN);
	p->part[0][AT + 20].lap += (uint64_t)(DELAY * pp_hz[0]);
	pp_ends(p, false, &e);
	assert_int_equal(hiccups_place(&e, false, AT + 20), HICCUP_UNKNOWN);
	e.client.n = 0;
	assert_int_equal(hiccups_place(&e, true, AT), HICCUP_UNKNOWN);
	pp_close(p);
}

static void test_worst_are_kept(void **state)
{
	enum { N = 10000, KEPT = 100 };
	uint64_t v[N];
	struct draws d = { 1 };
	struct hiccups h;

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		v[i] = i;
	for (uint64_t i = N - 1; i; i--) { /* shuffled */
		uint64_t k = draw_bits(&d) % (i + 1), t = v[i];

		v[i] = v[k];
		v[k] = t;
	}
	assert_int_equal(hiccups_open(&h, 4999, KEPT), 0);
	hiccups_add(&h, 0, v, N / 2);
	hiccups_add(&h, N / 2, v + N / 2, N / 2);
	hiccups_sort(&h);
	assert_int_equal(h.count, 5000);
	assert_int_equal(h.n, KEPT);
	for (size_t i = 0; i < h.n; i++) {
		assert_true(h.kept[i].value >= N - KEPT);
		assert_int_equal(v[h.kept[i].lap], h.kept[i].value);
		assert_true(!i || h.kept[i].lap > h.kept[i - 1].lap);
	}
	hiccups_close(&h);
	hiccups_close(&h);
}

static void test_limit(void **state)
{
	(void)state;
	assert_int_equal(hiccups_limit(1000, 10, 5), 1050);
	assert_int_equal(hiccups_limit(1000, 0, 5), 1005); /* a clock too coarse for a deviation */
	assert_true(hiccups_limit(1e19, 1e18, 10) == (uint64_t)9e18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planted),	       cmocka_unit_test(test_planted_in_posts),
		cmocka_unit_test(test_in_a_row),       cmocka_unit_test(test_ends_of_run),
		cmocka_unit_test(test_both),	       cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_worst_are_kept), cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests_name("hiccups", tests, NULL, NULL);
}
