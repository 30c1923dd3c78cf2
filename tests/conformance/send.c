/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SEND on RC: data, immediate data, what the two completions say, order. */
#include <arpa/inet.h>
#include <string.h>

#include "pair.h"

static void fill(uint8_t *buf, size_t n, unsigned int seed)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = (uint8_t)(seed + i * 7);
}

static void completions(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .id = 0x123456789abcdef0u, .len = 100 };
	struct ibv_wc wc;

	fill(p->a.buf, 100, 1);
	post_recv(&p->b, 0xfedcba9876543210u, 4096, 200);
	check_eq(c, post(p, &w), 0, "ibv_post_send(3)", "a SEND is taken");
	check_eq(c, wait_wc(p->b.rcq, &wc, WAIT_MS), IBV_WC_SUCCESS, "IBTA 11.4.2.1",
		 "it is received");
	check(c, wc.wr_id == 0xfedcba9876543210u && wc.opcode == IBV_WC_RECV, "ibv_poll_cq(3)",
	      "the receiver's completion has its wr_id and IBV_WC_RECV");
	check_eq(c, wc.byte_len, 100, "IBTA 11.4.2.1", "byte_len is that of the message");
	/* IBV_WC_GRH is for UD only: on RC it says nothing. */
	check(c, !(wc.wc_flags & IBV_WC_WITH_IMM), "ibv_poll_cq(3)",
	      "the flag for immediate data is not set");
	check_eq(c, wc.qp_num, p->b.qp->qp_num, "ibv_poll_cq(3)", "qp_num is the receiver's own");
	check(c, !memcmp(p->a.buf, p->b.buf + 4096, 100) && p->b.buf[4196] == 0, "IBTA 9.4.1",
	      "the data is there, and nothing behind it");
	check_eq(c, wait_wc(p->a.scq, &wc, WAIT_MS), IBV_WC_SUCCESS, "IBTA 11.4.2.1",
		 "the sender has a completion");
	check(c, wc.wr_id == w.id && wc.opcode == IBV_WC_SEND && wc.qp_num == p->a.qp->qp_num,
	      "ibv_poll_cq(3)", "with its wr_id, IBV_WC_SEND and its QPN");
}

static void immediate(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND_WITH_IMM, .len = 4, .imm = htonl(0x01020304) };
	static const uint8_t order[4] = { 1, 2, 3, 4 };
	struct ibv_wc wc;

	post_recv(&p->b, 1, 0, 64);
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.4.1",
		 "a SEND with immediate data is done");
	check_eq(c, wait_wc(p->b.rcq, &wc, WAIT_MS), IBV_WC_SUCCESS, "IBTA 9.4.1", "and received");
	check(c, wc.wc_flags & IBV_WC_WITH_IMM && wc.opcode == IBV_WC_RECV, "ibv_poll_cq(3)",
	      "the flag for immediate data is set");
	check(c, !memcmp(&wc.imm_data, order, 4), "ibv_poll_cq(3), IBTA 9.2.6",
	      "immediate data keeps its byte order (network)");
	w.len = 0;
	w.imm = htonl(7);
	post_recv(&p->b, 2, 0, 0);
	check(c, do_wr(p, &w) == IBV_WC_SUCCESS &&
	      wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == 0 &&
	      wc.imm_data == htonl(7), "IBTA 9.4.1", "immediate data comes with an empty message");
}

static void empty(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 0 };
	struct ibv_wc wc;

	post_recv(&p->b, 1, 0, 64);
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.4.1", "an empty SEND is done");
	check(c, wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == 0,
	      "IBTA 9.4.1", "and takes a receive with byte_len 0");
}

/* Longer than the path MTU, and not a multiple of it. */
static void many_packets(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .len = BUF_SIZE - 5 };
	struct ibv_wc wc;

	fill(p->a.buf, BUF_SIZE, 9);
	memset(p->b.buf, 0, BUF_SIZE);
	post_recv(&p->b, 1, 0, BUF_SIZE);
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.4.1", "a SEND of many packets is done");
	check(c, wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == w.len &&
	      !memcmp(p->a.buf, p->b.buf, w.len) && p->b.buf[w.len] == 0, "IBTA 9.4.1",
	      "and received whole, and not a byte more");
}

static void order(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct ibv_wc wc;
	int bad_send = 0, bad_recv = 0, bad_data = 0;

	for (uint32_t i = 0; i < 8; i++) {
		p->a.buf[64 * i] = (uint8_t)(i + 1);
		post_recv(&p->b, i, 64 * i, 8);
	}
	for (uint32_t i = 0; i < 8; i++) {
		w.id = i;
		w.off = 64 * i;
		post(p, &w);
	}
	for (uint64_t i = 0; i < 8; i++) {
		bad_recv += wait_wc(p->b.rcq, &wc, WAIT_MS) || wc.wr_id != i;
		bad_send += wait_wc(p->a.scq, &wc, WAIT_MS) || wc.wr_id != i;
		bad_data += p->b.buf[64 * i] != i + 1;
	}
	check_eq(c, bad_recv, 0, "IBTA 10.8.2.1, 9.5", "receives complete in the order of posting");
	check_eq(c, bad_send, 0, "IBTA 10.8.2.1", "sends complete in the order of posting");
	check_eq(c, bad_data, 0, "IBTA 9.5", "message n lands in receive n");
}

/* The caller may write over inline data as soon as the post has returned. */
static void inline_data(struct conf *c, struct pair *p)
{
	char text[32] = "inline, from unregistered memory";
	struct ibv_sge sge = { .addr = (uintptr_t)text, .length = 32, .lkey = 0 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE }, *bad;
	struct ibv_wc wc;
	int rc;

	post_recv(&p->b, 1, 0, 64);
	rc = ibv_post_send(p->a.qp, &wr, &bad);
	memset(text, 'x', sizeof(text));
	check_eq(c, rc, 0, "ibv_post_send(3)", "inline data needs no registration");
	check(c, wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == 32 &&
	      !memcmp(p->b.buf, "inline, from unregistered memory", 32), "ibv_post_send(3)",
	      "its buffer may be written over at once");
	check_eq(c, wait_status(p->a.scq), IBV_WC_SUCCESS, "ibv_post_send(3)", "inline completes");
}

static void too_much_inline(struct conf *c, struct pair *p)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct wr w = { .op = IBV_WR_SEND, .flags = IBV_SEND_INLINE };

	ibv_query_qp(p->a.qp, &attr, IBV_QP_CAP, &init);
	w.len = init.cap.max_inline_data + 1;
	if (w.len > BUF_SIZE)
		skip(c, "the device takes more inline than the buffer has", "too much inline data");
	else
		check(c, post(p, &w) != 0, "ibv_post_send(3)",
		      "more inline data than was granted is refused");
}

/* The flag says that the receiver's solicited event is asked for, and is seen in channel.c. */
void run_send(struct conf *c)
{
	static void (*const parts[])(struct conf *, struct pair *) = {
		completions, immediate, empty, many_packets, order, inline_data, too_much_inline,
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
