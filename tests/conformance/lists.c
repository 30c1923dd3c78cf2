/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of SGEs on both sides, lists of work requests. */
#include <string.h>

#include "pair.h"

#define N 4	/* opt_default().sge */

static void pieces(struct end *e, const uint32_t off[N], const uint32_t len[N], struct ibv_sge *sge)
{
	for (int i = 0; i < N; i++)
		sge[i] = (struct ibv_sge){ .addr = (uintptr_t)e->buf + off[i], .length = len[i],
					   .lkey = e->mr->lkey };
}

static const uint32_t out_off[N] = { 100, 0, 5000, 300 }, out_len[N] = { 10, 3, 4097, 0 };
static const uint32_t in_off[N] = { 8000, 10, 0, 12000 }, in_len[N] = { 1, 2048, 7, 3000 };
#define TOTAL (10 + 3 + 4097)

static void pattern(uint8_t *buf)
{
	for (int i = 0; i < BUF_SIZE; i++)
		buf[i] = (uint8_t)(i * 31 + (i >> 8));
}

/* The bytes of a list one after another. */
static void flat(const uint8_t *buf, const uint32_t off[N], const uint32_t len[N], uint8_t *out)
{
	for (int i = 0; i < N; i++) {
		memcpy(out, buf + off[i], len[i]);
		out += len[i];
	}
}

static bool same(struct pair *p)
{
	static uint8_t sent[BUF_SIZE], got[BUF_SIZE];

	flat(p->a.buf, out_off, out_len, sent);
	flat(p->b.buf, in_off, in_len, got);
	return !memcmp(sent, got, TOTAL);
}

static int post_list(struct pair *p, enum ibv_wr_opcode op, unsigned int flags,
		     struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = N, .opcode = op, .send_flags = flags,
				  .wr.rdma = { (uintptr_t)p->b.buf, p->b.mr->rkey } }, *bad;

	return ibv_post_send(p->a.qp, &wr, &bad);
}

static void send_list(struct conf *c, struct pair *p)
{
	struct ibv_sge out[N], in[N];
	struct ibv_recv_wr wr = { .sg_list = in, .num_sge = N }, *bad;
	struct ibv_wc wc;

	pattern(p->a.buf);
	pieces(&p->a, out_off, out_len, out);
	pieces(&p->b, in_off, in_len, in);
	check_eq(c, ibv_post_recv(p->b.qp, &wr, &bad), 0, "IBTA 10.7.3.1",
		 "a receive of four SGEs is taken");
	check_eq(c, post_list(p, IBV_WR_SEND, 0, out), 0, "IBTA 10.7.3.1",
		 "a SEND of four SGEs is taken");
	check(c, wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == TOTAL,
	      "IBTA 10.7.3.1", "byte_len is the sum of the sender's pieces");
	check(c, same(p), "IBTA 10.7.3.1", "the pieces are gathered and scattered in order");
	check_eq(c, wait_status(p->a.scq), IBV_WC_SUCCESS, "IBTA 10.7.3.1", "the SEND completes");
}

static void rdma_list(struct conf *c, struct pair *p)
{
	static uint8_t want[BUF_SIZE];
	struct ibv_sge sge[N];

	pattern(p->a.buf);
	pieces(&p->a, out_off, out_len, sge);
	flat(p->a.buf, out_off, out_len, want);
	check(c, !post_list(p, IBV_WR_RDMA_WRITE, 0, sge) &&
	      wait_status(p->a.scq) == IBV_WC_SUCCESS && !memcmp(p->b.buf, want, TOTAL),
	      "IBTA 10.7.3.1", "WRITE gathers four pieces");
	pattern(p->b.buf);
	memset(p->a.buf, 0, BUF_SIZE);
	check(c, !post_list(p, IBV_WR_RDMA_READ, 0, sge) && wait_status(p->a.scq) == IBV_WC_SUCCESS,
	      "IBTA 10.7.3.1", "READ into four pieces is done");
	flat(p->a.buf, out_off, out_len, want);
	check(c, !memcmp(p->b.buf, want, TOTAL) && p->a.buf[110] == 0 && p->a.buf[3] == 0,
	      "IBTA 10.7.3.1", "READ scatters in order, and writes nothing between");
}

static void inline_list(struct conf *c, struct pair *p)
{
	char text[] = "abcdefgh";
	struct ibv_sge sge[N] = {
		{ (uintptr_t)text, 2, 0 }, { (uintptr_t)text + 4, 1, 0 }, { 0, 0, 0 },
		{ (uintptr_t)text + 5, 3, 0 },
	};

	check(c, !post_list(p, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, sge) &&
	      wait_status(p->a.scq) == IBV_WC_SUCCESS && !memcmp(p->b.buf, "abefgh", 7),
	      "ibv_post_send(3)", "inline data is gathered from four pieces");
}

static void wr_list(struct conf *c, struct pair *p)
{
	struct ibv_send_wr wr[8], *bad;
	struct ibv_sge sge[8];
	struct ibv_wc wc[8];
	int got = 0, wrong = 0;
	double end = now_ms() + WAIT_MS;

	for (uint32_t i = 0; i < 8; i++) {
		struct wr w = { .op = i & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, .id = i,
				.off = 16 * i, .len = 16, .remote = 16 * i };

		wr_fill(p, &w, &wr[i], &sge[i]);
		wr[i].next = i < 7 ? &wr[i + 1] : NULL;
	}
	check_eq(c, ibv_post_send(p->a.qp, wr, &bad), 0, "ibv_post_send(3)",
		 "eight requests are posted in one call");
	while (got < 8 && now_ms() < end) {
		int n = ibv_poll_cq(p->a.scq, 8, wc);

		for (int i = 0; i < n; i++)
			wrong += wc[i].wr_id != (uint64_t)got++ || wc[i].status;
	}
	check(c, got == 8 && !wrong, "IBTA 10.8.2.1, ibv_poll_cq(3)",
	      "they complete in order, several to a poll");
}

void run_lists(struct conf *c)
{
	static void (*const parts[])(struct conf *, struct pair *) = { send_list, rdma_list,
								       inline_list, wr_list };
	struct opt o = opt_default(IBV_QPT_RC);
	struct pair p;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (pair_open(c, &p, &o))
			return;
		parts[i](c, &p);
		pair_close(&p);
	}
}
