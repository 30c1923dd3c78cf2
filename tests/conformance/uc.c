/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UC: the sender is done when the message has left; what goes wrong later is lost in silence. */
#include <arpa/inet.h>
#include <string.h>

#include "pair.h"

static void data(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 5000 };
	struct ibv_wc wc;

	memset(p->a.buf, 7, 5000);
	post_recv(&p->b, 1, 8192, 8000);
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.8.2", "a SEND is done");
	check(c, wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == 5000 &&
	      p->b.buf[8192] == 7 && p->b.buf[8192 + 4999] == 7 && p->b.buf[8192 + 5000] == 0,
	      "IBTA 9.8.2", "and received");
	w = (struct wr){ .op = IBV_WR_RDMA_WRITE, .len = 64, .remote = 100 };
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.8.2", "a WRITE is done");
	w = (struct wr){ .op = IBV_WR_RDMA_WRITE_WITH_IMM, .len = 64, .remote = 200,
			 .imm = htonl(99) };
	post_recv(&p->b, 2, 0, 0);
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.8.2",
		 "a WRITE with immediate data is done");
	check(c, wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.imm_data == htonl(99) &&
	      wc.wr_id == 2 && p->b.buf[200] == 7 && p->b.buf[163] == 7, "IBTA 9.8.2",
	      "and the WRITE before it is there as well");
}

static void no_requests_with_answers(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_READ, .len = 8 };
	int status = do_wr(p, &w);

	check(c, status < -1000 || status == IBV_WC_LOC_QP_OP_ERR,
		 "IBTA 9.8.2, table of operations",
	      "READ is refused");
	if (status >= 0 || status == TIMED_OUT)
		note("status %d", status);
}

static void lost(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct ibv_wc wc;

	p->a.buf[0] = 1;
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.8.2.2",
		 "a SEND without a receive is done for its sender");
	check(c, quiet(p->b.rcq), "IBTA 9.8.2.2", "and lost");
	post_recv(&p->b, 1, 0, 64);
	check(c, quiet(p->b.rcq), "IBTA 9.8.2.2", "for good");
	p->a.buf[0] = 2;
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.8.2.2", "the next SEND is done");
	check(c, wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && p->b.buf[0] == 2,
	      "IBTA 9.8.2.2", "and received");
}

static void refused(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8, .rkey = 0xdeadbeef };

	p->a.buf[0] = 1;
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.8.2.2",
		 "a WRITE with a wrong key is done for its sender");
	check(c, quiet(p->b.rcq) && p->b.buf[0] == 0, "IBTA 9.8.2.2", "and writes nothing");
	check_eq(c, qp_state(p->a.qp), IBV_QPS_RTS, "IBTA 9.8.2.2", "the sender's QP stays in RTS");
}

/* SQE: the send queue alone stops, and can be set going again. */
static void send_queue_error(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 8, .lkey = 0xdeadbeef };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE };
	int state;

	check_eq(c, do_wr(p, &w), IBV_WC_LOC_PROT_ERR, "IBTA 9.9.2.1, 11.6.2",
		 "a wrong local key is a local protection error");
	state = wait_state(p->a.qp, IBV_QPS_SQE);
	if (!check_eq(c, state, IBV_QPS_SQE, "IBTA 10.3.1.6", "the QP is in SQE"))
		return;
	check_eq(c, ibv_modify_qp(p->a.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0,
		 "IBTA 10.3.1.6", "SQE to RTS");
	w.lkey = 0;
	post_recv(&p->b, 1, 0, 64);
	check(c, do_wr(p, &w) == IBV_WC_SUCCESS && wait_status(p->b.rcq) == IBV_WC_SUCCESS,
	      "IBTA 10.3.1.6", "and it works again");
}

void run_uc(struct conf *c)
{
	static void (*const parts[])(struct conf *, struct pair *) = {
		data, no_requests_with_answers, lost, refused, send_queue_error,
	};
	struct opt o = opt_default(IBV_QPT_UC);
	struct pair p;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (pair_open(c, &p, &o))
			return;
		parts[i](c, &p);
		pair_close(&p);
	}
}
