/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The extended CQ, where the device has it: the same completions, read field by field. */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "pair.h"

#define PAGE "ibv_create_cq_ex(3)"

static struct ibv_cq_ex *make(struct conf *c, uint64_t more)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 64, .cq_context = c,
					    .wc_flags = IBV_WC_STANDARD_FLAGS | more };

	return ibv_create_cq_ex(c->ctx, &init);
}

/* 0 once a completion is there, and a poll has begun; ENOENT when the time is up. */
static int start(struct ibv_cq_ex *cq)
{
	double end = now_ms() + WAIT_MS;
	int rc;

	do {
		rc = ibv_start_poll(cq, &(struct ibv_poll_cq_attr){ 0 });
		if (rc != ENOENT)
			return rc;
		sched_yield();
	} while (now_ms() < end);
	return ENOENT;
}

/* A pair whose b receives into cq. */
static int open_with(struct conf *c, struct pair *p, struct ibv_cq_ex *cq)
{
	struct opt o = opt_default(IBV_QPT_RC);

	if (pair_open(c, p, &o))
		return -1;
	ibv_destroy_qp(p->b.qp);
	p->b.qp = qp_create(c, &o, p->b.scq, ibv_cq_ex_to_cq(cq), NULL);
	return p->b.qp && !pair_reconnect(p) ? 0 : -1;
}

static void fields(struct conf *c, struct pair *p, struct ibv_cq_ex *cq)
{
	struct wr w = { .op = IBV_WR_SEND_WITH_IMM, .len = 33, .imm = htonl(0x01020304) };

	check_eq(c, ibv_start_poll(cq, &(struct ibv_poll_cq_attr){ 0 }), ENOENT, PAGE,
		 "an empty CQ says ENOENT");
	post_recv(&p->b, 77, 0, 64);
	post_recv(&p->b, 78, 0, 64);
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.4.1", "a SEND is done");
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.4.1", "a second one too");
	if (!check_eq(c, start(cq), 0, PAGE, "a poll begins"))
		return;
	check(c, cq->wr_id == 77 && cq->status == IBV_WC_SUCCESS, PAGE,
		 "wr_id and status are there");
	check_eq(c, ibv_wc_read_opcode(cq), IBV_WC_RECV, PAGE, "the opcode is read");
	check_eq(c, ibv_wc_read_byte_len(cq), 33, PAGE, "the length is read");
	check(c, ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM &&
	      ibv_wc_read_imm_data(cq) == htonl(0x01020304), PAGE, "the immediate data is read");
	check_eq(c, ibv_wc_read_qp_num(cq), p->b.qp->qp_num, PAGE, "the QPN is read");
	check(c, ibv_next_poll(cq) == 0 && cq->wr_id == 78, PAGE, "the next one is there");
	check_eq(c, ibv_next_poll(cq), ENOENT, PAGE, "behind the last it says ENOENT");
	ibv_end_poll(cq);
}

/* Both ways of polling one CQ may follow each other. */
static void mixed(struct conf *c, struct pair *p, struct ibv_cq_ex *cq)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };

	post_recv(&p->b, 1, 0, 64);
	do_wr(p, &w);
	check_eq(c, wait_status(ibv_cq_ex_to_cq(cq)), IBV_WC_SUCCESS, PAGE,
		 "ibv_poll_cq works on an extended CQ");
}

static void stamps(struct conf *c)
{
	struct ibv_device_attr_ex ex = { .comp_mask = 0 };
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct ibv_cq_ex *cq;
	uint64_t last = 0;
	struct pair p;
	int bad = 0;

	if (ibv_query_device_ex(c->ctx, NULL, &ex) || !ex.completion_timestamp_mask) {
		skip(c, "the device has no completion timestamps", "timestamps rise");
		return;
	}
	cq = make(c, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	if (!check(c, cq != NULL, PAGE, "a CQ with timestamps is made"))
		return;
	if (!open_with(c, &p, cq)) {
		for (uint64_t i = 0; i < 10; i++) {
			post_recv(&p.b, i, 0, 64);
			do_wr(&p, &w);
			if (start(cq)) {
				bad++;
				break;
			}
			bad += ibv_wc_read_completion_ts(cq) < last;
			last = ibv_wc_read_completion_ts(cq);
			ibv_end_poll(cq);
		}
		check(c, !bad && last, PAGE, "timestamps rise");
	}
	pair_close(&p);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

void run_cq_ex(struct conf *c)
{
	struct ibv_cq_ex *cq;
	struct pair p;

	errno = 0;
	cq = make(c, 0);
	if (!cq && (errno == EOPNOTSUPP || errno == ENOSYS)) {
		skip(c, "the device has no extended CQ", "the extended CQ");
		return;
	}
	if (!check(c, cq != NULL, PAGE, "an extended CQ is made"))
		return;
	if (check(c, !open_with(c, &p, cq), PAGE, "a QP receives into it")) {
		fields(c, &p, cq);
		mixed(c, &p, cq);
	}
	pair_close(&p);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	stamps(c);
}
