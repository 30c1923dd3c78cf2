/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages of megabytes, lists as long as the device takes them, and receives without SGEs. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define SIZE (4u << 20)

struct big {
	uint8_t *buf;
	struct ibv_mr *mr;
};

static int big_open(struct conf *c, struct big *b, size_t size)
{
	b->mr = NULL;
	if (posix_memalign((void **)&b->buf, 4096, size))
		return -1;
	memset(b->buf, 0, size);
	b->mr = ibv_reg_mr(c->pd, b->buf, size, ALL_ACCESS);
	return b->mr ? 0 : -1;
}

static void big_close(struct big *b)
{
	if (b->mr)
		ibv_dereg_mr(b->mr);
	free(b->buf);
}

/* No two blocks of a page alike, so that a lost or swapped packet shows. */
static void fill(uint8_t *buf, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		if (i % 61 == 0)
			seed = seed * 1664525 + 1013904223;
		buf[i] = (uint8_t)(seed >> 24);
	}
}

static int post_big(struct pair *p, enum ibv_wr_opcode op, struct big *from, struct big *to,
		    uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)from->buf, len, from->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = op,
				  .wr.rdma = { (uintptr_t)to->buf, to->mr->rkey } }, *bad;

	return ibv_post_send(p->a.qp, &wr, &bad);
}

static void messages(struct conf *c, struct pair *p, struct big *a, struct big *b)
{
	struct ibv_sge sge = { (uintptr_t)b->buf, SIZE, b->mr->lkey };
	struct ibv_recv_wr rr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	fill(a->buf, SIZE, 1);
	check(c, !post_big(p, IBV_WR_RDMA_WRITE, a, b, SIZE) &&
	      wait_status(p->a.scq) == IBV_WC_SUCCESS && !memcmp(a->buf, b->buf, SIZE),
	      "IBTA 9.4.3", "a WRITE of 4 MiB is whole");
	fill(b->buf, SIZE, 2);
	check(c, !post_big(p, IBV_WR_RDMA_READ, a, b, SIZE - 3) &&
	      wait_status(p->a.scq) == IBV_WC_SUCCESS && !memcmp(a->buf, b->buf, SIZE - 3),
	      "IBTA 9.4.4", "a READ of 4 MiB less 3 bytes is whole");
	fill(a->buf, SIZE, 3);
	ibv_post_recv(p->b.qp, &rr, &bad);
	check(c, !post_big(p, IBV_WR_SEND, a, b, SIZE) &&
	      wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == SIZE &&
	      !memcmp(a->buf, b->buf, SIZE), "IBTA 9.4.1", "a SEND of 4 MiB is whole");
	check_eq(c, wait_status(p->a.scq), IBV_WC_SUCCESS, "IBTA 9.4.1", "and completes");
}

/* As many pieces as the device takes (at most 16 here), of 1, 2, 3... bytes. */
static void long_lists(struct conf *c)
{
	int n = c->dev.max_sge < 16 ? c->dev.max_sge : 16;
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_sge out[16], in[16];
	struct ibv_recv_wr rr = { .sg_list = in, .num_sge = n }, *bad_rr;
	struct ibv_send_wr wr = { .sg_list = out, .num_sge = n, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_wc wc;
	uint32_t total = 0;
	struct pair p;
	int wrong = 0;

	o.sge = (uint32_t)n;
	if (pair_open(c, &p, &o))
		return;
	fill(p.a.buf, BUF_SIZE, 4);
	for (int i = 0; i < n; i++) {
		uint32_t len = (uint32_t)i + 1;

		out[i] = (struct ibv_sge){ (uintptr_t)p.a.buf + 500u * (uint32_t)i, len,
					   p.a.mr->lkey };
		in[i] = (struct ibv_sge){ (uintptr_t)p.b.buf + 700u * (uint32_t)i, len,
					  p.b.mr->lkey };
		total += len;
	}
	check_eq(c, ibv_post_recv(p.b.qp, &rr, &bad_rr), 0, "IBTA 10.7.3.1",
		 "a receive with the longest list is taken");
	check_eq(c, ibv_post_send(p.a.qp, &wr, &bad), 0, "IBTA 10.7.3.1",
		 "a SEND with the longest list is taken");
	check(c, wait_wc(p.b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == total,
	      "IBTA 10.7.3.1", "and received");
	for (int i = 0; i < n; i++)
		wrong += memcmp(p.a.buf + 500 * i, p.b.buf + 700 * i, (size_t)i + 1) != 0;
	check_eq(c, wrong, 0, "IBTA 10.7.3.1", "each piece is in its place");
	pair_close(&p);
}

static void without_sges(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE_WITH_IMM, .len = 64, .imm = htonl(3) };
	struct ibv_recv_wr rr = { .wr_id = 8 }, *bad;
	struct ibv_wc wc;
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	check_eq(c, ibv_post_recv(p.b.qp, &rr, &bad), 0, "IBTA 10.7.3.1, ibv_post_recv(3)",
		 "a receive without SGEs is taken");
	check(c, do_wr(&p, &w) == IBV_WC_SUCCESS &&
	      wait_wc(p.b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 8 &&
	      wc.byte_len == 64 && wc.imm_data == htonl(3), "IBTA 9.4.3",
	      "it serves a WRITE with immediate data");
	ibv_post_recv(p.b.qp, &rr, &bad);
	w = (struct wr){ .op = IBV_WR_SEND, .len = 0 };
	check(c, do_wr(&p, &w) == IBV_WC_SUCCESS && wait_status(p.b.rcq) == IBV_WC_SUCCESS,
	      "IBTA 9.4.1", "and an empty SEND");
	pair_close(&p);
}

void run_large(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct big a = { NULL, NULL }, b = { NULL, NULL };
	struct pair p;

	if (check(c, !big_open(c, &a, SIZE) && !big_open(c, &b, SIZE), "ibv_reg_mr(3)",
		  "two regions of 4 MiB are made") && !pair_open(c, &p, &o)) {
		messages(c, &p, &a, &b);
		pair_close(&p);
	}
	big_close(&a);
	big_close(&b);
	long_lists(c);
	without_sges(c);
}
