/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lanes: what a loop finds in them for each operation and transport, and how receives are posted. */
#include "unit.h"

#include <errno.h>

#include "lane.h"

#define QPS 5
#define SEND_AREA 0x2000
#define RECV_AREA 0x3000

static char memory[QPS * (SEND_AREA + RECV_AREA)];

/* An end of five QPs, with CQs for two each, and the addresses of the other one. */
struct world {
	struct endpoint e;
	struct endpoint_address remote;
	struct endpoint_cqs cqs[3];
	struct ibv_qp_ex qpx[QPS];
	struct ibv_qp *qps[QPS];
	struct ibv_mr mr[QPS], *mrs[QPS];
	struct ibv_ah ah[QPS], *ahs[QPS];
	struct ibv_srq srq;
	struct ibv_context ctx;
	uint32_t qpns[QPS], psns[QPS], rkeys[QPS];
	struct lane lanes[QPS];
};

static struct {
	unsigned int lists[64], count, total; /* lengths of the lists that were posted */
	unsigned int srq_posts;
	unsigned int fail_at; /* this list is refused; 0: none */
} posted;

static int note(struct ibv_recv_wr *wr)
{
	unsigned int n = 0;

	for (; wr; wr = wr->next)
		n++;
	if (posted.fail_at == posted.count + 1)
		return ENOMEM;
	posted.lists[posted.count++] = n;
	posted.total += n;
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	*bad = wr;
	return note(wr);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)srq;
	*bad = wr;
	posted.srq_posts++;
	return note(wr);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	memset(&posted, 0, sizeof(posted));
	w->ctx.ops.post_recv = post_recv;
	w->ctx.ops.post_srq_recv = post_srq_recv;
	w->srq.context = &w->ctx;
	for (unsigned int i = 0; i < QPS; i++) {
		w->qpx[i].qp_base.context = &w->ctx;
		w->qps[i] = &w->qpx[i].qp_base;
		w->mr[i] = (struct ibv_mr){ .lkey = 100 + i, .rkey = 200 + i };
		w->mrs[i] = &w->mr[i];
		w->ahs[i] = &w->ah[i];
		w->qpns[i] = 0x500 + i;
		w->psns[i] = 0x600 + i;
		w->rkeys[i] = 0x700 + i;
	}
	w->e = (struct endpoint){ .ctx = &w->ctx, .cqs = w->cqs, .cqs_count = 3, .qps_per_cqs = 2,
				  .buffer = { .addr = memory, .bytes = sizeof(memory) },
				  .mrs = w->mrs, .mr_count = QPS, .qps = w->qps, .ahs = w->ahs,
				  .qp_count = QPS, .ah_count = QPS, .qkey = 0x1234,
				  .post = POST_SEND, .send_area = SEND_AREA,
				  .recv_area = RECV_AREA };
	w->remote = (struct endpoint_address){ .vaddr = 0x10000, .stride = 0x7000,
					       .qpns = w->qpns, .psns = w->psns,
					       .rkeys = w->rkeys, .qp_count = QPS };
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static struct lane *fill(struct world *w, enum op_kind op, enum transport t, uint64_t size,
			 uint32_t most_inline)
{
	struct lane_plan plan = { op, t, size, 4096, most_inline };

	lanes_fill(w->lanes, QPS, &w->e, &w->remote, &plan);
	return w->lanes;
}

static char *areas(unsigned int i)
{
	return memory + i * (SEND_AREA + RECV_AREA);
}

static void test_ring(void **state)
{
	struct world *w = *state;
	struct lane_plan plan = { OP_WRITE, TRANSPORT_RC, 8, 8, 0 };
	struct lane *l = fill(w, OP_WRITE, TRANSPORT_RC, 8, 0), *at = l;

	for (unsigned int i = 0; i < QPS; i++, at = at->next) {
		assert_ptr_equal(at, &l[i]);
		assert_int_equal(at->index, i);
		assert_ptr_equal(at->qp, w->qps[i]);
		assert_ptr_equal(at->cqs, &w->cqs[i / 2]);
	}
	assert_ptr_equal(at, l);
	lanes_fill(l, 1, &w->e, &w->remote, &plan);
	assert_ptr_equal(l->next, l);
}

/* Of each size anew; but what was consumed of the receives is still to be posted. */
static void test_again(void **state)
{
	struct world *w = *state;
	struct lane *l = fill(w, OP_SEND, TRANSPORT_RC, 8, 64);

	l[2].consumed = 7;
	fill(w, OP_SEND, TRANSPORT_RC, 4096, 64);
	for (unsigned int i = 0; i < QPS; i++) {
		assert_int_equal(l[i].consumed, i == 2 ? 7 : 0);
		assert_int_equal(l[i].sge.length, 4096);
		assert_int_equal(l[i].recv_sge.length, 4096);
	}
}

/* Where each QP's messages go: by the peer's stride and with its key. */
static void test_remote(void **state)
{
	static const enum op_kind plain[] = { OP_WRITE, OP_WRITE_IMM, OP_READ };
	struct world *w = *state;

	for (size_t k = 0; k < COUNT(plain); k++) {
		struct lane *l = fill(w, plain[k], TRANSPORT_RC, 8, 0);

		for (unsigned int i = 0; i < QPS; i++) {
			assert_int_equal(l[i].wr.opcode, op_get(plain[k])->opcode);
			assert_int_equal(l[i].wr.wr.rdma.remote_addr, 0x10000 + i * 0x7000);
			assert_int_equal(l[i].wr.wr.rdma.rkey, 0x700 + i);
			assert_ptr_equal(l[i].send, areas(i));
			assert_int_equal(l[i].sge.addr, (uintptr_t)areas(i));
			assert_int_equal(l[i].sge.lkey, 100 + i);
		}
	}
}

static void test_atomics(void **state)
{
	struct world *w = *state;
	struct lane *l = fill(w, OP_FETCH_ADD, TRANSPORT_RC, 8, 64);

	assert_int_equal(l[3].wr.opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
	assert_int_equal(l[3].wr.wr.atomic.remote_addr, 0x10000 + 3 * 0x7000);
	assert_int_equal(l[3].wr.wr.atomic.rkey, 0x703);
	assert_int_equal(l[3].wr.wr.atomic.compare_add, 1);
	assert_false(l[3].wr.send_flags & IBV_SEND_INLINE);
	fill(w, OP_CMP_SWAP, TRANSPORT_RC, 8, 64);
	assert_int_equal(l[3].wr.opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
	assert_int_equal(l[3].wr.wr.atomic.compare_add, 0);
	assert_int_equal(l[3].wr.wr.atomic.swap, 1);
}

/* Up to the size that goes inline; what is fetched never does. Every send is signaled. */
static void test_inline(void **state)
{
	static const struct {
		enum op_kind op;
		uint64_t size;
		uint32_t most;
		bool in_line;
	} rows[] = {
		{ OP_SEND, 8, 0, false }, { OP_SEND, 8, 7, false },  { OP_SEND, 8, 8, true },
		{ OP_WRITE, 1, 1, true }, { OP_WRITE, 65, 64, false }, { OP_SEND_IMM, 64, 64, true },
		{ OP_READ, 8, 64, false }, { OP_CMP_SWAP, 8, 64, false },
	};
	struct world *w = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct lane *l = fill(w, rows[i].op, TRANSPORT_RC, rows[i].size, rows[i].most);

		assert_int_equal(!!(l->wr.send_flags & IBV_SEND_INLINE), rows[i].in_line);
		assert_true(l->wr.send_flags & IBV_SEND_SIGNALED);
	}
}

/* On UD the message lies behind 40 bytes of GRH, and the receive has room for both. */
static void test_datagrams(void **state)
{
	struct world *w = *state;
	struct lane *l = fill(w, OP_SEND, TRANSPORT_UD, 8, 0);

	for (unsigned int i = 0; i < QPS; i++) {
		assert_ptr_equal(l[i].wr.wr.ud.ah, &w->ah[i]);
		assert_int_equal(l[i].wr.wr.ud.remote_qpn, 0x500 + i);
		assert_int_equal(l[i].wr.wr.ud.remote_qkey, 0x1234);
		assert_int_equal(l[i].recv_sge.addr, (uintptr_t)areas(i) + SEND_AREA);
		assert_int_equal(l[i].recv_sge.length, 4096 + 40);
		assert_ptr_equal(l[i].recv, areas(i) + SEND_AREA + 40);
	}
	fill(w, OP_SEND, TRANSPORT_UC, 8, 0);
	assert_ptr_equal(l[1].recv, areas(1) + SEND_AREA);
	assert_int_equal(l[1].recv_sge.length, 4096);
	assert_int_equal(l[1].recv_sge.lkey, 101);
	assert_int_equal(l[1].recv_wr.wr_id, 1);
}

/* One region for all: its key everywhere. */
static void test_one_region(void **state)
{
	struct world *w = *state;
	struct lane *l;

	w->e.mr_count = 1;
	l = fill(w, OP_SEND, TRANSPORT_RC, 8, 0);
	assert_int_equal(l[4].sge.lkey, 100);
	assert_int_equal(l[4].recv_sge.lkey, 100);
}

static void test_srq(void **state)
{
	struct world *w = *state;
	struct lane *l;

	w->e.srq = &w->srq;
	l = fill(w, OP_SEND, TRANSPORT_RC, 8, 0);
	for (unsigned int i = 0; i < QPS; i++) {
		assert_ptr_equal(l[i].srq, &w->srq);
		assert_ptr_equal(l[i].recv, areas(0) + SEND_AREA);
		assert_int_equal(l[i].recv_sge.lkey, 100);
	}
	/* A WRITE's data goes where the RKey says, whoever's receive it takes. */
	fill(w, OP_WRITE_IMM, TRANSPORT_RC, 8, 0);
	assert_ptr_equal(l[2].recv, areas(2) + SEND_AREA);
	assert_int_equal(lane_post_receives(&l[2], 3), 0);
	assert_int_equal(posted.srq_posts, 1);
	assert_int_equal(posted.total, 3);
}

static void test_receives(void **state)
{
	static const unsigned int counts[] = { 1, 63, 64, 65, 1000 };
	struct world *w = *state;
	struct lane *l = fill(w, OP_SEND, TRANSPORT_RC, 8, 0);

	assert_int_equal(lane_post_receives(l, 0), 0);
	assert_int_equal(posted.count, 0);
	for (size_t i = 0; i < COUNT(counts); i++) {
		memset(&posted, 0, sizeof(posted));
		assert_int_equal(lane_post_receives(l, counts[i]), 0);
		assert_int_equal(posted.total, counts[i]);
		for (unsigned int k = 0; k < posted.count; k++)
			assert_true(posted.lists[k] >= 1 && posted.lists[k] <= 64);
		assert_int_equal(posted.srq_posts, 0);
	}
	memset(&posted, 0, sizeof(posted));
	posted.fail_at = 2;
	assert_int_equal(lane_post_receives(l, 100), ENOMEM);
}

static struct ibv_send_wr sent;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	*bad = wr;
	sent = *wr;
	return wr->wr_id == 66 ? ENOMEM : 0;
}

static void test_post(void **state)
{
	struct world *w = *state;
	struct lane *l;

	w->ctx.ops.post_send = post_send;
	l = fill(w, OP_WRITE, TRANSPORT_RC, 8, 0);
	assert_int_equal(l[1].post(&l[1], 65), 0);
	assert_int_equal(sent.wr_id, 65);
	assert_null(sent.next);
	assert_int_equal(sent.opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(l[1].post(&l[1], 66), ENOMEM);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(test_ring),	  IN_WORLD(test_again),	 IN_WORLD(test_remote),
		IN_WORLD(test_atomics),	  IN_WORLD(test_inline), IN_WORLD(test_datagrams),
		IN_WORLD(test_one_region), IN_WORLD(test_srq),	 IN_WORLD(test_receives),
		IN_WORLD(test_post),
	};

	return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
