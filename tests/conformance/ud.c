/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UD: the 40 bytes of the GRH, one packet at most, Q_Keys, silence about what is lost. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "pair.h"

#define GRH 40

static uint32_t mtu_bytes(struct conf *c)
{
	return 128u << c->port.active_mtu;
}

static void data(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND_WITH_IMM, .id = 3, .len = 100, .imm = htonl(0xcafe) };
	struct ibv_wc wc;

	memset(p->a.buf, 0x42, 100);
	post_recv(&p->b, 9, 0, 1000);
	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.8.3", "a SEND is done");
	check_eq(c, wait_wc(p->b.rcq, &wc, WAIT_MS), IBV_WC_SUCCESS, "IBTA 9.8.3", "and received");
	check_eq(c, wc.byte_len, 100 + GRH, "IBTA 11.4.1.2, ibv_poll_cq(3)",
		 "byte_len counts the 40 bytes in front");
	check(c, p->b.buf[GRH] == 0x42 && p->b.buf[GRH + 99] == 0x42 && p->b.buf[GRH + 100] == 0,
	      "IBTA 11.4.1.2", "the data begins behind 40 bytes");
	check_eq(c, wc.src_qp, p->a.qp->qp_num, "IBTA 11.4.2.1", "src_qp is the sender's");
	check(c, wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htonl(0xcafe), "IBTA 9.8.3",
	      "the immediate data is there");
	check_eq(c, !!(wc.wc_flags & IBV_WC_GRH), c->grh, "IBTA 11.4.2.1",
		 "the GRH flag says whether the address was global");
	if (!c->grh)
		check_eq(c, wc.slid, c->port.lid, "IBTA 11.4.2.1", "slid is the sender's LID");
}

/* In a GRH the GIDs stand at 8 and 24; RoCE v2 over IPv4 has an IP header at 20 instead. */
static void header(struct conf *c, struct pair *p)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	const uint8_t *h = p->b.buf;

	if (!c->grh) {
		skip(c, "addressed by LID", "the header names both GIDs");
		return;
	}
	post_recv(&p->b, 9, 0, 1000);
	check(c, do_wr(p, &w) == IBV_WC_SUCCESS && wait_status(p->b.rcq) == IBV_WC_SUCCESS,
	      "IBTA 9.8.3", "a SEND is received");
	if (c->port.link_layer == IBV_LINK_LAYER_ETHERNET && !memcmp(c->gid.raw, mapped, 12))
		check(c, h[20] >> 4 == 4 && !memcmp(h + 32, c->gid.raw + 12, 4) &&
		      !memcmp(h + 36, c->gid.raw + 12, 4), "IBTA A17.4.5.1",
		      "the header is that of IPv4, in its last 20 bytes");
	else
		check(c, h[0] >> 4 == 6 && !memcmp(h + 8, c->gid.raw, 16) &&
		      !memcmp(h + 24, c->gid.raw, 16), "IBTA 8.3",
		      "the header names both GIDs");
}

static void sizes(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .len = mtu_bytes(c) };
	struct ibv_wc wc;
	int status;

	post_recv(&p->b, 9, 0, mtu_bytes(c) + GRH);
	check(c, do_wr(p, &w) == IBV_WC_SUCCESS &&
	      wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == w.len + GRH,
	      "IBTA 9.8.3", "a message of one MTU is received");
	w.len = 0;
	post_recv(&p->b, 9, 0, GRH);
	check(c, do_wr(p, &w) == IBV_WC_SUCCESS &&
	      wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == GRH,
	      "IBTA 9.8.3", "an empty message is received");
	w.len = mtu_bytes(c) + 1;
	post_recv(&p->b, 9, 0, BUF_SIZE);
	status = do_wr(p, &w);
	/* C10-93.1.1 wants silence; hardware is known to report the length, and that helps more. */
	check(c, status < -1000 || status == IBV_WC_LOC_LEN_ERR || status == IBV_WC_SUCCESS,
	      "IBTA C10-93.1.1, 11.6.2", "a message above the MTU is dropped or a length error");
	note("status %d", status);
	check(c, quiet(p->b.rcq), "IBTA C10-93.1.1", "a message above the MTU is never received");
}

static int send_with(struct pair *p, uint32_t qpn, uint32_t qkey)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	wr_fill(p, &w, &wr, &sge);
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	return ibv_post_send(p->a.qp, &wr, &bad) ? TIMED_OUT : wait_status(p->a.scq);
}

static void qkeys(struct conf *c, struct pair *p)
{
	post_recv(&p->b, 1, 0, 1000);
	check_eq(c, send_with(p, p->b.qp->qp_num, QKEY + 1), IBV_WC_SUCCESS, "IBTA 10.2.5, 9.8.3",
		 "a SEND with a wrong Q_Key is done for its sender");
	check(c, quiet(p->b.rcq), "IBTA 10.2.5", "and not received");
	check_eq(c, send_with(p, p->b.qp->qp_num, 0x80000000u), IBV_WC_SUCCESS, "IBTA 10.2.5",
		 "with the highest bit set the QP's own Q_Key is sent");
	check_eq(c, wait_status(p->b.rcq), IBV_WC_SUCCESS, "IBTA 10.2.5",
		 "what was sent with the own Q_Key is received");
	check_eq(c, send_with(p, 0xfffffe, QKEY), IBV_WC_SUCCESS, "IBTA 9.8.3",
		 "a SEND to a QP that is not there is done for its sender");
}

static void lost(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct ibv_wc wc;

	check_eq(c, do_wr(p, &w), IBV_WC_SUCCESS, "IBTA 9.8.3", "a SEND without a receive is done");
	check(c, quiet(p->b.rcq), "IBTA 9.8.3", "and lost");
	post_recv(&p->b, 1, 0, 1000);
	p->a.buf[0] = 5;
	check(c, do_wr(p, &w) == IBV_WC_SUCCESS &&
	      wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && p->b.buf[GRH] == 5,
	      "IBTA 9.8.3", "the next one is received");
}

static void refused(struct conf *c, struct pair *p)
{
	struct ibv_sge sge = { (uintptr_t)p->a.buf, 8, p->a.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .wr.ud = { p->a.ah, p->b.qp->qp_num, QKEY } }, *bad;
	int status = ibv_post_send(p->a.qp, &wr, &bad) ? -1000 : wait_status(p->a.scq);

	check(c, status == -1000 || status == IBV_WC_LOC_QP_OP_ERR,
		 "IBTA 9.8.3, table of operations",
	      "WRITE is refused");
	if (status != -1000)
		note("status %d", status);
}

/* The receive has no room for header and data: lost or reported, never written beyond. */
static void short_receive(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 100 };
	struct ibv_wc wc;
	int status;

	memset(p->a.buf, 1, 100);
	post_recv(&p->b, 1, 0, GRH + 50);
	do_wr(p, &w);
	status = wait_wc(p->b.rcq, &wc, QUIET_MS);
	check(c, status == TIMED_OUT || status == IBV_WC_LOC_LEN_ERR, "IBTA 9.8.3.2.2, 11.6.2",
	      "a message longer than the receive is lost or a length error");
	note("status %d", status);
	check(c, p->b.buf[GRH + 50] == 0, "IBTA 9.8.3.2.2",
		 "nothing is written behind the receive");
}

/* As programs do it: the header into a place of its own, the data into another. */
static void scattered(struct conf *c, struct pair *p)
{
	struct ibv_sge sge[3] = { { (uintptr_t)p->b.buf, GRH, p->b.mr->lkey },
				  { (uintptr_t)p->b.buf + 4096, 10, p->b.mr->lkey },
				  { (uintptr_t)p->b.buf + 8192, 500, p->b.mr->lkey } };
	struct ibv_recv_wr rr = { .sg_list = sge, .num_sge = 3 }, *bad;
	struct wr w = { .op = IBV_WR_SEND, .len = 100 };
	struct ibv_wc wc;

	memset(p->a.buf, 0x19, 100);
	check(c, !ibv_post_recv(p->b.qp, &rr, &bad) && do_wr(p, &w) == IBV_WC_SUCCESS &&
	      wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.byte_len == 100 + GRH,
	      "IBTA 11.4.1.2", "a receive of three pieces is filled");
	check(c, p->b.buf[GRH] == 0 && p->b.buf[4096] == 0x19 && p->b.buf[4105] == 0x19 &&
	      p->b.buf[4106] == 0 && p->b.buf[8192] == 0x19 && p->b.buf[8192 + 89] == 0x19 &&
	      p->b.buf[8192 + 90] == 0, "IBTA 11.4.1.2",
	      "header and data are scattered over the pieces in order");
}

void run_ud(struct conf *c)
{
	static void (*const parts[])(struct conf *, struct pair *) = {
		data, header, sizes, scattered, qkeys, lost, refused, short_receive,
	};
	struct opt o = opt_default(IBV_QPT_UD);
	struct pair p;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (pair_open(c, &p, &o))
			return;
		parts[i](c, &p);
		pair_close(&p);
	}
}
