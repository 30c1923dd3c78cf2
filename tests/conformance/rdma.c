/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* WRITE, WRITE with immediate data and READ on RC. */
#include <arpa/inet.h>
#include <string.h>

#include "pair.h"

static void write_data(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .id = 5, .off = 3, .len = 5001, .remote = 77 };
	struct ibv_wc wc;

	memset(p->a.buf, 0x5a, BUF_SIZE);
	post_recv(&p->b, 1, 0, 8);
	check_eq(c, post(p, &w), 0, "IBTA 9.4.3", "a WRITE is taken");
	check(c, wait_wc(p->a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 5 &&
	      wc.opcode == IBV_WC_RDMA_WRITE, "IBTA 9.4.3", "and done, with IBV_WC_RDMA_WRITE");
	check(c, p->b.buf[76] == 0 && p->b.buf[77] == 0x5a && p->b.buf[77 + 5000] == 0x5a &&
	      p->b.buf[77 + 5001] == 0, "IBTA 9.4.3", "each byte is written, and none beside");
	check(c, quiet(p->b.rcq), "IBTA 9.4.3", "the responder sees no completion");
}

static void write_imm(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_WRITE_WITH_IMM, .len = 300, .imm = htonl(0xa1b2c3d4) };
	struct ibv_wc wc;

	memset(p->a.buf, 0x77, 300);
	post_recv(&p->b, 9, 8192, 8);
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.4.3",
		 "WRITE with immediate data is done");
	check(c, wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 9 &&
	      wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM, "ibv_poll_cq(3)",
	      "it takes a receive, with IBV_WC_RECV_RDMA_WITH_IMM");
	check(c, wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htonl(0xa1b2c3d4),
	      "ibv_poll_cq(3)", "and brings the immediate data");
	check_eq(c, wc.byte_len, 300, "IBTA 11.4.2.1", "byte_len is what was written");
	check(c, p->b.buf[299] == 0x77 && p->b.buf[8192] == 0, "IBTA 9.4.3",
	      "the data goes where the WRITE says, not into the receive");
	w.len = 0;
	post_recv(&p->b, 10, 0, 0);
	check(c, do_wr(p, &w) == IBV_WC_SUCCESS &&
	      wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == 0, "IBTA 9.4.3",
	      "an empty WRITE with immediate data takes a receive too");
}

static void read_data(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_READ, .id = 6, .off = 1, .len = 9000, .remote = 100 };
	struct ibv_wc wc;

	memset(p->b.buf, 0x3c, BUF_SIZE);
	check_eq(c, post(p, &w), 0, "IBTA 9.4.4", "a READ is taken");
	check(c, wait_wc(p->a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 6 &&
	      wc.opcode == IBV_WC_RDMA_READ, "IBTA 9.4.4", "and done, with IBV_WC_RDMA_READ");
	check(c, p->a.buf[0] == 0 && p->a.buf[1] == 0x3c && p->a.buf[9000] == 0x3c &&
	      p->a.buf[9001] == 0, "IBTA 9.4.4", "each byte is read, and none beside");
	check(c, quiet(p->b.rcq) && quiet(p->b.scq), "IBTA 9.4.4",
	      "the responder sees no completion");
}

/* No data, so no right is needed and no key looked at. */
static void empty(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 0, .rkey = 0xdeadbe };

	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.7.4.1.5 (C9-88)",
		 "an empty WRITE is done, whatever its key");
	w.op = IBV_WR_RDMA_READ;
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.7.4.1.5 (C9-88)",
		 "an empty READ is done, whatever its key");
}

/* More READs than may be outstanding: the requester holds them back, and none fails. */
static void depth(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_READ, .len = 64 };
	struct ibv_wc wc;
	int bad = 0;

	memset(p->b.buf, 0x11, BUF_SIZE);
	for (uint32_t i = 0; i < 12; i++) {
		w.id = i;
		w.off = 64 * i;
		bad += post(p, &w) != 0;
	}
	for (uint64_t i = 0; i < 12; i++)
		bad += wait_wc(p->a.scq, &wc, WAIT_MS) != IBV_WC_SUCCESS || wc.wr_id != i ||
		       p->a.buf[64 * i + 63] != 0x11;
	check_eq(c, bad, 0, "IBTA 9.7.3.1, 11.2.5.2",
		 "more READs than max_rd_atomic wait their turn, in order");
}

/* READ behind WRITE to the same place, and WRITE behind a fenced READ. */
static void ordering(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8, .off = 0, .remote = 0 };
	struct wr r = { .op = IBV_WR_RDMA_READ, .len = 8, .off = 64, .remote = 0 };
	int bad = 0;

	for (int i = 1; i <= 50; i++) {
		memset(p->a.buf, i, 8);
		post(p, &w);
		post(p, &r);
		bad += wait_status(p->a.scq) || wait_status(p->a.scq) || p->a.buf[64] != i;
	}
	check_eq(c, bad, 0, "IBTA 10.8.3.3 (table of ordering rules)",
		 "a READ sees the WRITE before it");
	bad = 0;
	for (int i = 1; i <= 50; i++) {
		memset(p->b.buf, i, 8);
		r.off = 0;
		r.remote = 0;
		w.remote = 128;
		w.flags = IBV_SEND_FENCE;
		post(p, &r);
		post(p, &w);
		bad += wait_status(p->a.scq) || wait_status(p->a.scq) || p->b.buf[128] != i;
	}
	check_eq(c, bad, 0, "IBTA 10.8.3.3",
		 "a fenced WRITE sends what the READ before it brought");
}

void run_rdma(struct conf *c)
{
	static void (*const parts[])(struct conf *, struct pair *) = {
		write_data, write_imm, read_data, empty, depth, ordering,
	};
	struct opt o = opt_default(IBV_QPT_RC);
	struct pair p;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (pair_open(c, &p, &o))
			return;
		parts[i](c, &p);
		pair_close(&p);
	}
}
