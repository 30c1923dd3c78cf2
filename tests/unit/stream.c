/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stream over a device on paper: counts are exact, queues never overflow, a receiver is never
 * found unready, whatever the depths, lists, signals, queue pairs and credits.
 */
#include <unistd.h>

#include "stream_world.h"

static uint64_t draw(struct draws *d, uint64_t from, uint64_t to)
{
	return from + (uint64_t)(draw_uniform(d) * (double)(to - from + 1));
}

/* Any combination that op_check() lets through. */
static void draw_settings(struct world *w)
{
	struct settings *s = &w->set;
	static const uint64_t sizes[] = { 1, 7, 8, 64, 65, 4096, 70000 };

	s->tx_depth = draw(&w->d, 1, draw_uniform(&w->d) < 0.5 ? 4 : 130);
	s->rx_depth = draw(&w->d, 1, draw_uniform(&w->d) < 0.5 ? 4 : 200);
	s->post_list = draw(&w->d, 1, s->tx_depth);
	s->recv_post_list = draw(&w->d, 1, s->rx_depth);
	s->cq_mod = draw_uniform(&w->d) < 0.3 ? OPTION_AUTO :
		    draw(&w->d, 1, s->tx_depth / 2 ? s->tx_depth / 2 : 1);
	s->qps = draw(&w->d, 1, WORLD_QPS);
	s->sizes.v[0] = sizes[draw(&w->d, 0, COUNT(sizes) - 1)];
	s->buffer = draw_uniform(&w->d) < 0.5 ? OPTION_AUTO : draw(&w->d, 1, 300000);
	w->slow = draw_uniform(&w->d) < 0.5;
}

static struct stream_goal by_count(uint64_t n)
{
	return (struct stream_goal){ .messages = n, .ticks = UINT64_MAX };
}

static void send_some(struct world *w, uint64_t n, struct stream_figures *f)
{
	struct stream_goal g = by_count(n);
	int rc = stream_send(w->s, &g, f);

	if (rc)
		fail_msg("%s", w->err.text);
}

/* Everything that the stream says was sent took effect, and the last of each lane was signaled. */
static void assert_all_there(const struct world *w, uint64_t n)
{
	uint64_t data = 0;

	for (unsigned int i = 0; i < w->plan.qps; i++) {
		const struct world_qp *q = &w->qp[i];
		uint64_t share = n / w->plan.qps + (i < n % w->plan.qps);

		assert_int_equal(q->data, share);
		assert_int_equal(q->signaled_end, share);
		assert_int_equal(q->done, q->posted);
		assert_int_equal(q->freed, q->posted);
		data += q->data;
	}
	assert_int_equal(data, n);
}

static void send_random(uint64_t seed, enum op_kind op)
{
	struct world *w = world_new(seed);
	struct stream_figures f;
	uint64_t n;

	draw_settings(w);
	n = draw(&w->d, 1, 600);
	world_open(w, op, true, false);
	assert_int_equal(stream_begin(w->s, w->set.sizes.v[0]), 0);
	send_some(w, n, &f);
	assert_int_equal(f.sent, n);
	assert_int_equal(f.arrived, n);
	assert_int_equal(f.presumed_lost, 0);
	assert_all_there(w, n);
	world_close(w);
}

static void test_send(void **state)
{
	static const enum op_kind ops[] = { OP_WRITE, OP_SEND, OP_WRITE_IMM, OP_READ };

	(void)state;
	for (uint64_t seed = 1; seed <= 600; seed++)
		send_random(seed, ops[seed % COUNT(ops)]);
}

/* Warm-up, measured, a second size: counts run on, each phase has its own. */
static void test_phases(void **state)
{
	struct world *w = world_new(7);
	struct stream_figures f;

	(void)state;
	w->set.qps = 3;
	w->set.tx_depth = 5;
	w->set.rx_depth = 6;
	world_open(w, OP_SEND, true, false);
	for (int size = 0; size < 2; size++) {
		assert_int_equal(stream_begin(w->s, 8), 0);
		send_some(w, 10, &f);
		assert_int_equal(f.sent, 10);
		send_some(w, 101, &f);
		assert_int_equal(f.sent, 101);
		assert_int_equal(f.arrived, 101);
	}
	assert_int_equal(w->qp[0].data + w->qp[1].data + w->qp[2].data, 222);
	world_close(w);
}

/* By time: what was posted is awaited, an unsignaled tail gets one more that is signaled. */
static void test_deadline(void **state)
{
	struct stream_goal g = { .messages = UINT64_MAX, .ticks = 300000 };
	struct stream_figures f;

	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct world *w = world_new(seed);
		uint64_t data = 0;

		draw_settings(w);
		world_open(w, seed % 2 ? OP_SEND : OP_WRITE, true, false);
		assert_int_equal(stream_begin(w->s, w->set.sizes.v[0]), 0);
		assert_int_equal(stream_send(w->s, &g, &f), 0);
		for (unsigned int i = 0; i < w->plan.qps; i++) {
			data += w->qp[i].data;
			assert_int_equal(w->qp[i].signaled_end, w->qp[i].data);
			assert_int_equal(w->qp[i].freed, w->qp[i].posted);
		}
		assert_true(f.sent > 0 && f.ticks >= 300000);
		assert_int_equal(f.sent, data);
		assert_int_equal(f.arrived, data);
		world_close(w);
	}
}

/* Counts of credits have 31 bits: beyond 2^33 messages a lane goes on as before. */
static void test_large_counts(void **state)
{
	static const uint64_t bases[] = { (1ull << 31) - 100, (1ull << 33) - 100, (1ull << 40) + 5 };
	struct stream_figures f;

	(void)state;
	for (size_t i = 0; i < COUNT(bases); i++) {
		struct world *w = world_new(i + 1);
		struct stream_lane *l;

		w->base = bases[i];
		w->set.rx_depth = 16;
		world_open(w, OP_SEND, true, false);
		l = &w->s->lanes[0];
		l->sent = l->completed = l->credited = w->qp[0].told = bases[i];
		w->s->sent = w->s->completed = w->s->credited = bases[i];
		assert_int_equal(stream_begin(w->s, 8), 0);
		send_some(w, 1000, &f);
		assert_int_equal(f.arrived, 1000);
		assert_int_equal(l->credited, bases[i] + 1000);
		world_close(w);
	}
}

static void receive_random(uint64_t seed, uint64_t base)
{
	struct world *w = world_new(seed);
	uint64_t each;

	draw_settings(w);
	each = draw(&w->d, 1, 300);
	world_open(w, OP_SEND, false, true);
	for (unsigned int i = 0; i < w->plan.qps; i++) {
		struct stream_lane *l = &w->s->lanes[i];

		l->received = l->announced = w->qp[i].sent = w->qp[i].announced = base;
		w->s->received += base;
		w->s->announced += base;
	}
	w->to_send = base + each;
	assert_int_equal(stream_begin(w->s, w->set.sizes.v[0]), 0);
	w->s->peer_done = true;
	w->s->peer_sent = each * w->plan.qps;
	if (stream_receive(w->s))
		fail_msg("%s", w->err.text);
	assert_int_equal(stream_received(w->s), each * w->plan.qps);
	for (unsigned int i = 0; i < w->plan.qps; i++)
		assert_int_equal(w->qp[i].sent, base + each);
	world_close(w);
}

/* A receiver never leaves its sender without credit, and never promises what it has not posted. */
static void test_receive(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++)
		receive_random(seed, seed % 4 ? 0 : (1ull << 33) - 30);
}

/* Lost messages hold their credits for ever: the sender goes on after a while, and counts them. */
static void test_loss(void **state)
{
	struct world *w = world_new(5);
	struct stream_figures f;
	uint64_t lost;

	(void)state;
	w->set.transport = TRANSPORT_UC;
	w->set.rx_depth = 8;
	w->set.qps = 2;
	w->loss = 0.03;
	world_open(w, OP_SEND, true, false);
	assert_int_equal(stream_begin(w->s, 8), 0);
	send_some(w, 1000, &f);
	lost = w->qp[0].lost + w->qp[1].lost;
	assert_true(lost > 8);
	assert_int_equal(f.sent, 1000);
	assert_int_equal(f.arrived, 1000 - lost);
	assert_int_equal(f.presumed_lost, lost);
	world_close(w);
}

/* Whatever a size of the list walks through lies in the areas that were asked for. */
static void test_areas(void **state)
{
	struct draws d = { 11 };
	struct world *w = world_new(1);

	(void)state;
	for (int run = 0; run < 3000; run++) {
		enum op_kind op = (enum op_kind)draw(&d, 0, OP_KINDS - 1);
		uint64_t slots, stride;
		size_t send_area, recv_area;

		draw_settings(w);
		w->set.sizes = (struct size_list){ { 8, draw(&d, 1, 100000), draw(&d, 1, 5000) }, 3 };
		w->set.verify = draw_uniform(&d) < 0.5;
		w->set.srq = draw_uniform(&d) < 0.5;
		w->set.bidirectional = draw_uniform(&d) < 0.5;
		w->set.transport = op == OP_SEND && draw_uniform(&d) < 0.5 ? TRANSPORT_UD : 0;
		stream_plan(&w->plan, &w->set, op_get(op));
		stream_areas(&w->set, op_get(op), &send_area, &recv_area);
		for (int i = 0; i < 3; i++) {
			uint64_t size = w->set.sizes.v[i];

			slots = stream_slots(&w->plan, size);
			assert_true(slots >= 1 && slots * stream_stride(size) < send_area);
			if (op_get(op)->access)
				assert_true(slots * stream_stride(size) <= recv_area);
			stream_recv_walk(&w->plan, size, &slots, &stride);
			if (op_get(op)->receives)
				assert_true((slots - 1) * stride + w->plan.largest +
					    (w->plan.ud ? UD_GRH_BYTES : 0) <= recv_area);
			if (w->set.verify && op == OP_SEND)
				assert_true(slots * (w->plan.srq ? w->plan.qps : 1) >=
					    w->plan.receives);
		}
		assert_true(w->plan.list <= w->plan.depth && w->plan.cq_mod <= w->plan.depth);
	}
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send),	     cmocka_unit_test(test_phases),
		cmocka_unit_test(test_deadline),     cmocka_unit_test(test_large_counts),
		cmocka_unit_test(test_receive),	     cmocka_unit_test(test_loss),
		cmocka_unit_test(test_areas),
	};

	alarm(100); /* a stream that stands still fails */
	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
