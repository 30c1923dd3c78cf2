/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages that do not fit: the receive is too short, or the message too long for the port. */
#include <string.h>

#include "pair.h"

static void short_receive(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .id = 1, .len = 65 };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	memset(p.a.buf, 1, 128);
	post_recv(&p.b, 7, 0, 64);
	check_eq(c, do_wr(&p, &w), IBV_WC_REM_INV_REQ_ERR, "IBTA 9.7.5.2.4, 11.6.2",
		 "a SEND longer than the receive is an invalid request to its sender");
	check_wc(c, p.b.rcq, IBV_WC_LOC_LEN_ERR, 7, "IBTA 9.7.4.1.6, 11.6.2",
		 "a SEND longer than the receive is a local length error to its receiver");
	check(c, p.b.buf[64] == 0, "IBTA 9.7.4.1.6", "nothing is written behind the receive");
	check_eq(c, wait_state(p.b.qp, IBV_QPS_ERR), IBV_QPS_ERR, "IBTA 9.9.3.1",
		 "the receiver's QP is in ERR");
	pair_close(&p);
}

static void exact(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .len = 64 };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	post_recv(&p.b, 7, 0, 64);
	check(c, do_wr(&p, &w) == IBV_WC_SUCCESS && wait_status(p.b.rcq) == IBV_WC_SUCCESS,
	      "IBTA 9.7.4.1.6", "a SEND that just fits is received");
	pair_close(&p);
}

/* A WRITE of another length than the SEND's receive: no receive is looked at without data of it. */
static void write_ignores_receive(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE_WITH_IMM, .len = 4000 };
	struct ibv_wc wc;
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	post_recv(&p.b, 7, 8192, 1);
	check(c, do_wr(&p, &w) == IBV_WC_SUCCESS &&
	      wait_wc(p.b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == 4000,
	      "IBTA 9.4.3", "a WRITE with immediate data may be longer than the receive it takes");
	pair_close(&p);
}

/* The message is refused at once or by its completion, and never sent in part. */
static void too_long(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 0x80000001u };
	struct pair p;
	int status;

	if (pair_open(c, &p, &o))
		return;
	status = do_wr(&p, &w);
	check(c, status < -1000 || status == IBV_WC_LOC_LEN_ERR || status == IBV_WC_LOC_PROT_ERR,
	      "IBTA 9.2.8, 11.6.2", "a message above 2^31 bytes is refused as too long");
	note("status %d", status);
	pair_close(&p);
}

void run_length(struct conf *c)
{
	short_receive(c);
	exact(c);
	write_ignores_receive(c);
	too_long(c);
}
