/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two processes: what passes between them, what one does while the other is passive, or dead. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "pair.h"
#include "peer.h"

/* End a is here, the other one in the peer. */
struct both {
	struct pair p;
	struct peer peer;
};

static int join(struct both *b)
{
	struct pair *p = &b->p;
	struct conf there = conf_towards(p->c, b->peer.lid, &b->peer.gid);
	struct ibv_wc wc;

	if (qp_set(p->a.qp, IBV_QPS_RESET))
		return -1;
	while (ibv_poll_cq(p->a.scq, 1, &wc) > 0 || ibv_poll_cq(p->a.rcq, 1, &wc) > 0)
		;
	if (peer_do(&b->peer, PEER_CONNECT, p->a.qp->qp_num, p->c->port.lid, 0).v)
		return -1;
	return qp_up(&there, &p->o, p->a.qp, IBV_QPS_RTS, b->peer.qpn);
}

static int post_peer(struct both *b, enum ibv_wr_opcode op, uint32_t off, uint32_t len,
		     uint64_t remote, uint32_t rkey)
{
	struct wr w = { .op = op, .off = off, .len = len, .compare = 1, .imm = htonl(0x0a0b0c0d) };
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	wr_fill(&b->p, &w, &wr, &sge);
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = b->peer.addr + remote;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = b->peer.addr + remote;
		wr.wr.rdma.rkey = rkey;
	}
	return ibv_post_send(b->p.a.qp, &wr, &bad);
}

static int do_peer(struct both *b, enum ibv_wr_opcode op, uint32_t off, uint32_t len,
		   uint64_t remote)
{
	if (post_peer(b, op, off, len, remote, b->peer.rkey))
		return TIMED_OUT;
	return wait_status(b->p.a.scq);
}

static uint64_t get(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, 8);
	return v;
}

/* The peer makes no call between the request and its effect. */
static void one_sided(struct conf *c, struct both *b)
{
	uint8_t *buf = b->p.a.buf;

	memset(buf, 0x61, 9000);
	check_eq(c, do_peer(b, IBV_WR_RDMA_WRITE, 0, 9000, 100), IBV_WC_SUCCESS, "IBTA 9.4.3",
		 "a WRITE into the other process is done");
	check(c, peer_do(&b->peer, PEER_GET, 0, 100, 0).w == 0x6161616161616161u &&
	      peer_do(&b->peer, PEER_GET, 0, 9092, 0).w == 0x6161616161616161u &&
	      peer_do(&b->peer, PEER_GET, 0, 9100, 0).w == 0, "IBTA 9.4.3",
	      "its data is there, and not a byte more");
	peer_do(&b->peer, PEER_SET, 0x1234567890abcdefu, 4096, 0);
	check(c, do_peer(b, IBV_WR_RDMA_READ, 0, 8, 4096) == IBV_WC_SUCCESS &&
	      get(buf) == 0x1234567890abcdefu, "IBTA 9.4.4", "a READ brings what the peer wrote");
	if (c->dev.atomic_cap == IBV_ATOMIC_NONE)
		return;
	check(c, do_peer(b, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 4096) == IBV_WC_SUCCESS &&
	      get(buf) == 0x1234567890abcdefu &&
	      peer_do(&b->peer, PEER_GET, 0, 4096, 0).w == 0x1234567890abcdf0u, "IBTA 9.4.5",
	      "FETCH_ADD adds in the other process");
}

static void two_sided(struct conf *c, struct both *b)
{
	struct peer_answer wc;

	peer_do(&b->peer, PEER_RECV, 7, 0, 64);
	memset(b->p.a.buf, 0x71, 32);
	check_eq(c, do_peer(b, IBV_WR_SEND_WITH_IMM, 0, 32, 0), IBV_WC_SUCCESS, "IBTA 9.4.1",
		 "a SEND to the other process is done");
	wc = peer_do(&b->peer, PEER_WC, 0, 0, 0);
	check(c, wc.v == IBV_WC_SUCCESS && wc.w == 7 && wc.x == 32 && wc.z == IBV_WC_RECV &&
	      wc.y == htonl(0x0a0b0c0d), "IBTA 11.4.2.1", "and received with all its fields");
	check(c, peer_do(&b->peer, PEER_GET, 0, 24, 0).w == 0x7171717171717171u &&
	      peer_do(&b->peer, PEER_GET, 0, 32, 0).w != 0x7171717171717171u, "IBTA 9.4.1",
	      "and its data");
	peer_do(&b->peer, PEER_RECV, 8, 0, 0);
	check_eq(c, do_peer(b, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 16, 2048), IBV_WC_SUCCESS,
		 "IBTA 9.4.3", "a WRITE with immediate data is done");
	wc = peer_do(&b->peer, PEER_WC, 0, 0, 0);
	check(c, wc.v == IBV_WC_SUCCESS && wc.w == 8 && wc.x == 16 &&
	      wc.z == IBV_WC_RECV_RDMA_WITH_IMM, "IBTA 9.4.3", "and takes the peer's receive");
	post_recv(&b->p.a, 9, 8192, 64);
	peer_do(&b->peer, PEER_SET, 0x5555555555555555u, 0, 0);
	check_eq(c, peer_do(&b->peer, PEER_SEND, 0, 0, 8).v, IBV_WC_SUCCESS, "IBTA 9.4.1",
		 "the peer sends back");
	check(c, wait_status(b->p.a.rcq) == IBV_WC_SUCCESS &&
	      get(b->p.a.buf + 8192) == 0x5555555555555555u, "IBTA 9.4.1", "and we receive it");
}

static void sleeping(struct conf *c, struct both *b)
{
	peer_do(&b->peer, PEER_RECV, 1, 0, 64);
	check_eq(c, peer_do(&b->peer, PEER_ARM, 0, 0, 0).v, 0, "ibv_req_notify_cq(3)",
		 "the peer arms its CQ");
	check_eq(c, peer_do(&b->peer, PEER_WOKEN, QUIET_MS, 0, 0).v, 0, "IBTA 11.4.2.2",
		 "and is not woken by nothing");
	check_eq(c, do_peer(b, IBV_WR_SEND, 0, 8, 0), IBV_WC_SUCCESS, "IBTA 9.4.1",
		 "a SEND is done");
	check_eq(c, peer_do(&b->peer, PEER_WOKEN, WAIT_MS, 0, 0).v, 1, "IBTA 11.4.2.2",
		 "and wakes the peer");
	check_eq(c, peer_do(&b->peer, PEER_WC, 0, 0, 0).v, IBV_WC_SUCCESS, "IBTA 9.4.1",
		 "which finds the message");
}

static void not_ready(struct conf *c, struct both *b)
{
	check_eq(c, post_peer(b, IBV_WR_SEND, 0, 8, 0, 0), 0, "IBTA 9.7.5.2.8",
		 "a SEND is posted before the peer's receive");
	check(c, quiet(b->p.a.scq), "IBTA 9.7.5.2.8", "it waits");
	peer_do(&b->peer, PEER_RECV, 2, 0, 64);
	check_eq(c, wait_status(b->p.a.scq), IBV_WC_SUCCESS, "IBTA 9.7.5.2.8",
		 "it is done once the peer posts one");
	check_eq(c, peer_do(&b->peer, PEER_WC, 0, 0, 0).w, 2, "IBTA 9.7.5.2.8", "and received");
}

static void refused(struct conf *c, struct both *b)
{
	peer_do(&b->peer, PEER_RECV, 3, 0, 64);
	post_peer(b, IBV_WR_RDMA_WRITE, 0, 8, 0, b->peer.rkey ^ 1);
	check_eq(c, wait_status(b->p.a.scq), IBV_WC_REM_ACCESS_ERR, "IBTA 9.7.4.1.5",
		 "a wrong key of the other process is refused");
	check_eq(c, peer_do(&b->peer, PEER_STATE, 0, 0, 0).v, IBV_QPS_ERR, "IBTA 9.9.3.1",
		 "the peer's QP is in ERR");
	check_eq(c, peer_do(&b->peer, PEER_WC, 0, 0, 0).v, IBV_WC_WR_FLUSH_ERR, "IBTA 10.3.1.7",
		 "the peer's receive is flushed");
	check_eq(c, peer_do(&b->peer, PEER_EVENT, 0, 0, 0).v, IBV_EVENT_QP_ACCESS_ERR,
		 "IBTA 11.6.3.2", "the peer is told by an event");
	check_eq(c, join(b), 0, "IBTA 10.3.1.1", "both connect again");
	check_eq(c, do_peer(b, IBV_WR_RDMA_WRITE, 0, 8, 0), IBV_WC_SUCCESS, "IBTA 10.3.1.1",
		 "and work again");
}

/* Killed without a word: its QP does not answer any more, and a new process is a new peer. */
static void killed(struct conf *c, struct both *b)
{
	double start, t;

	b->p.o.timeout = 12;	/* 16.8 ms */
	b->p.o.retry = 3;
	t = 4.096e-3 * exp2(b->p.o.timeout) * (b->p.o.retry + 1);
	if (!check_eq(c, join(b), 0, "IBTA 10.3.1.1", "both connect with short retries"))
		return;
	kill(b->peer.pid, SIGKILL);
	waitpid(b->peer.pid, NULL, 0);
	b->peer.pid = 0;
	start = now_ms();
	check_eq(c, do_peer(b, IBV_WR_RDMA_WRITE, 0, 8, 0), IBV_WC_RETRY_EXC_ERR,
		 "IBTA 9.7.6.1.3", "a peer that was killed is found out by the retries");
	check(c, now_ms() - start >= t * 0.95, "IBTA 9.7.6.1.3",
	      "not before the time of the formula");
	peer_stop(&b->peer);
	if (!check(c, !peer_start(c, &b->peer) && !join(b), "-", "a new peer is connected"))
		return;
	check_eq(c, do_peer(b, IBV_WR_RDMA_WRITE, 0, 8, 0), IBV_WC_SUCCESS, "IBTA 9.4.3",
		 "a WRITE to it is done");
}

void run_process(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct both b;

	if (pair_open(c, &b.p, &o))
		return;
	if (check(c, !peer_start(c, &b.peer) && !join(&b), "-", "two processes are connected")) {
		one_sided(c, &b);
		two_sided(c, &b);
		sleeping(c, &b);
		not_ready(c, &b);
		refused(c, &b);
		killed(c, &b);
	}
	peer_stop(&b.peer);
	pair_close(&b.p);
}
