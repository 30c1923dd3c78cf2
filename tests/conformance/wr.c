/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ibv_wr_* calls, where the device has them: the same work by another way of posting. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "pair.h"

#define PAGE "ibv_wr_post(3)"

/* A second QP in place of a.qp, which knows the calls. */
static struct ibv_qp_ex *replace(struct pair *p)
{
	struct conf *c = p->c;
	struct ibv_qp_init_attr_ex init = {
		.send_cq = p->a.scq, .recv_cq = p->a.rcq, .pd = c->pd, .qp_type = IBV_QPT_RC,
		.cap = { 16, 16, 4, 4, 64 }, .sq_sig_all = 0,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(c->ctx, &init);

	if (!qp)
		return NULL;
	ibv_destroy_qp(p->a.qp);
	p->a.qp = qp;
	return pair_reconnect(p) ? NULL : ibv_qp_to_qp_ex(qp);
}

static void begin(struct ibv_qp_ex *q, uint64_t id, unsigned int flags)
{
	ibv_wr_start(q);
	q->wr_id = id;
	q->wr_flags = flags;
}

static void data(struct conf *c, struct pair *p, struct ibv_qp_ex *q)
{
	uint64_t remote = (uintptr_t)p->b.buf;
	struct ibv_wc wc;

	memset(p->a.buf, 0x21, 64);
	begin(q, 5, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(q, p->b.mr->rkey, remote + 100);
	ibv_wr_set_sge(q, p->a.mr->lkey, (uintptr_t)p->a.buf, 64);
	check_eq(c, ibv_wr_complete(q), 0, PAGE, "a WRITE is posted");
	check(c, wait_wc(p->a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 5 &&
	      wc.opcode == IBV_WC_RDMA_WRITE && p->b.buf[100] == 0x21 && p->b.buf[163] == 0x21,
	      PAGE, "and done");
	begin(q, 6, IBV_SEND_SIGNALED);
	ibv_wr_rdma_read(q, p->b.mr->rkey, remote + 100);
	ibv_wr_set_sge(q, p->a.mr->lkey, (uintptr_t)p->a.buf + 4096, 8);
	check(c, !ibv_wr_complete(q) && wait_wc(p->a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS &&
	      wc.wr_id == 6 && p->a.buf[4096] == 0x21, PAGE, "a READ is done");
	post_recv(&p->b, 1, 0, 64);
	begin(q, 7, IBV_SEND_SIGNALED);
	ibv_wr_send_imm(q, htonl(0x51525354));
	ibv_wr_set_sge(q, p->a.mr->lkey, (uintptr_t)p->a.buf, 5);
	check(c, !ibv_wr_complete(q) && wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS &&
	      wc.byte_len == 5 && wc.imm_data == htonl(0x51525354) && p->b.buf[4] == 0x21, PAGE,
	      "a SEND with immediate data is received");
	check_eq(c, wait_status(p->a.scq), IBV_WC_SUCCESS, PAGE, "and completes");
}

static void inline_data(struct conf *c, struct pair *p, struct ibv_qp_ex *q)
{
	struct ibv_data_buf bufs[2] = { { "ab", 2 }, { "cd", 2 } };
	char text[8] = "hello";

	begin(q, 1, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(q, p->b.mr->rkey, (uintptr_t)p->b.buf);
	ibv_wr_set_inline_data(q, text, 5);
	memset(text, 'x', sizeof(text));
	check(c, !ibv_wr_complete(q) && wait_status(p->a.scq) == IBV_WC_SUCCESS &&
	      !memcmp(p->b.buf, "hello", 6), PAGE,
		 "an inline WRITE is done, its buffer free at once");
	begin(q, 2, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(q, p->b.mr->rkey, (uintptr_t)p->b.buf);
	ibv_wr_set_inline_data_list(q, 2, bufs);
	check(c, !ibv_wr_complete(q) && wait_status(p->a.scq) == IBV_WC_SUCCESS &&
	      !memcmp(p->b.buf, "abcdo", 5), PAGE, "a list of inline data is gathered");
}

static void batch(struct conf *c, struct pair *p, struct ibv_qp_ex *q)
{
	struct ibv_sge sge[2] = { { (uintptr_t)p->a.buf, 2, p->a.mr->lkey },
				  { (uintptr_t)p->a.buf + 10, 2, p->a.mr->lkey } };
	struct ibv_wc wc;

	memcpy(p->a.buf, "xx", 2);
	memcpy(p->a.buf + 10, "yy", 2);
	memcpy(p->a.buf + 20, "abcd", 4);
	ibv_wr_start(q);
	q->wr_flags = 0;
	q->wr_id = 1;
	ibv_wr_rdma_write(q, p->b.mr->rkey, (uintptr_t)p->b.buf);
	ibv_wr_set_sge(q, p->a.mr->lkey, (uintptr_t)p->a.buf + 20, 4);
	q->wr_flags = IBV_SEND_SIGNALED;
	q->wr_id = 2;
	ibv_wr_rdma_write(q, p->b.mr->rkey, (uintptr_t)p->b.buf + 8);
	ibv_wr_set_sge_list(q, 2, sge);
	check_eq(c, ibv_wr_complete(q), 0, PAGE, "two requests are posted in one batch");
	check(c, wait_wc(p->a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 2 &&
	      quiet(p->a.scq), PAGE, "each has its own flags");
	check(c, !memcmp(p->b.buf, "abcd", 4) && !memcmp(p->b.buf + 8, "xxyy", 4), PAGE,
	      "a list of SGEs is gathered");
}

static void aborted(struct conf *c, struct pair *p, struct ibv_qp_ex *q)
{
	struct ibv_wc wc;

	p->a.buf[0] = 0x13;
	p->b.buf[0] = 0;
	begin(q, 1, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(q, p->b.mr->rkey, (uintptr_t)p->b.buf);
	ibv_wr_set_sge(q, p->a.mr->lkey, (uintptr_t)p->a.buf, 8);
	ibv_wr_abort(q);
	check(c, quiet(p->a.scq) && p->b.buf[0] == 0, PAGE, "an aborted batch does nothing");
	begin(q, 2, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(q, p->b.mr->rkey, (uintptr_t)p->b.buf);
	ibv_wr_set_sge(q, p->a.mr->lkey, (uintptr_t)p->a.buf, 8);
	check(c, !ibv_wr_complete(q) && wait_wc(p->a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS &&
	      wc.wr_id == 2, PAGE, "the next batch is done");
}

static uint64_t word(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, 8);
	return v;
}

static void atomics(struct conf *c, struct pair *p, struct ibv_qp_ex *q)
{
	uint64_t v = 10;

	if (c->dev.atomic_cap == IBV_ATOMIC_NONE) {
		skip(c, "no atomic operations", "FETCH_ADD and CMP_SWAP are done");
		return;
	}
	memcpy(p->b.buf, &v, 8);
	begin(q, 1, 0);
	ibv_wr_atomic_fetch_add(q, p->b.mr->rkey, (uintptr_t)p->b.buf, 5);
	ibv_wr_set_sge(q, p->a.mr->lkey, (uintptr_t)p->a.buf, 8);
	q->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_cmp_swp(q, p->b.mr->rkey, (uintptr_t)p->b.buf, 15, 99);
	ibv_wr_set_sge(q, p->a.mr->lkey, (uintptr_t)p->a.buf + 8, 8);
	check(c, !ibv_wr_complete(q) && wait_status(p->a.scq) == IBV_WC_SUCCESS &&
	      word(p->a.buf) == 10 && word(p->a.buf + 8) == 15 && word(p->b.buf) == 99, PAGE,
	      "FETCH_ADD and CMP_SWAP are done");
}

void run_wr(struct conf *c)
{
	static void (*const parts[])(struct conf *, struct pair *, struct ibv_qp_ex *) = {
		data, inline_data, batch, aborted, atomics,
	};
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_qp_ex *q;
	struct pair p;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (pair_open(c, &p, &o))
			return;
		errno = 0;
		q = replace(&p);
		if (!q && (errno == EOPNOTSUPP || errno == ENOSYS)) {
			skip(c, "the device has no ibv_wr_*", "ibv_wr_*");
			pair_close(&p);
			return;
		}
		if (check(c, q != NULL, PAGE, "a QP with the calls is made"))
			parts[i](c, &p, q);
		pair_close(&p);
	}
}
