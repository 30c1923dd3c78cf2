/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Both sides of the socket: starting and asking the peer, and being it. */
#include "peer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

#define ANSWER_MS 10000

static void exec_peer(struct conf *c, int fd)
{
	char num[3][16];

	snprintf(num[0], sizeof(num[0]), "%d", fd);
	snprintf(num[1], sizeof(num[1]), "%d", c->port_num);
	snprintf(num[2], sizeof(num[2]), "%d", c->grh ? c->gid_index : -1);
	execl("/proc/self/exe", "conform", "--peer", num[0], "-i", num[1], "-g", num[2], "-d",
	      c->peer_dev ? c->peer_dev : ibv_get_device_name(c->ctx->device), NULL);
	_exit(127);
}

int peer_start(struct conf *c, struct peer *p)
{
	struct peer_answer hello;
	int fd[2];

	memset(p, 0, sizeof(*p));
	p->fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd))
		return -1;
	fflush(stdout);
	p->pid = fork();
	if (p->pid == 0) {
		close(fd[0]);
		exec_peer(c, fd[1]);
	}
	close(fd[1]);
	p->fd = fd[0];
	if (p->pid < 0)
		return -1;
	hello = peer_do(p, PEER_HELLO, 0, 0, 0);
	p->qpn = (uint32_t)hello.v;
	p->addr = hello.w;
	p->rkey = hello.x;
	p->lid = (uint16_t)hello.y;
	p->gid = hello.gid;
	p->own_gid = c->gid;
	return hello.v > 0 ? 0 : -1;
}

void peer_stop(struct peer *p)
{
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	if (p->fd >= 0)
		close(p->fd);
	p->pid = 0;
	p->fd = -1;
}

struct peer_answer peer_do(struct peer *p, int op, uint64_t a, uint64_t b, uint32_t n)
{
	struct peer_cmd cmd = { .op = op, .a = a, .b = b, .n = n, .gid = p->own_gid };
	struct pollfd fd = { .fd = p->fd, .events = POLLIN };
	struct peer_answer answer;

	if (send(p->fd, &cmd, sizeof(cmd), MSG_NOSIGNAL) != sizeof(cmd) ||
	    poll(&fd, 1, ANSWER_MS) != 1 ||
	    recv(p->fd, &answer, sizeof(answer), 0) != sizeof(answer))
		memset(&answer, 0xff, sizeof(answer));
	return answer;
}

/* The peer's own end. */
struct side {
	struct conf *c;
	struct opt o;
	struct end e;
	struct ibv_comp_channel *channel;
};

static int side_open(struct side *s)
{
	static uint8_t buf[BUF_SIZE] __attribute__((aligned(4096)));

	s->o = opt_default(IBV_QPT_RC);
	s->o.rnr_retry = 7;
	s->channel = ibv_create_comp_channel(s->c->ctx);
	s->e.buf = buf;
	s->e.mr = ibv_reg_mr(s->c->pd, buf, BUF_SIZE, ALL_ACCESS);
	s->e.scq = ibv_create_cq(s->c->ctx, 64, NULL, NULL, 0);
	s->e.rcq = s->channel ? ibv_create_cq(s->c->ctx, 64, NULL, s->channel, 0) : NULL;
	if (!s->e.mr || !s->e.scq || !s->e.rcq)
		return -1;
	s->e.qp = qp_create(s->c, &s->o, s->e.scq, s->e.rcq, NULL);
	return s->e.qp ? 0 : -1;
}

struct conf conf_towards(const struct conf *c, uint16_t lid, const union ibv_gid *gid)
{
	struct conf there = *c;

	there.port.lid = lid;
	there.gid = *gid;
	return there;
}

static int connect_to(struct side *s, const struct peer_cmd *cmd)
{
	struct conf there = conf_towards(s->c, (uint16_t)cmd->b, &cmd->gid);
	struct ibv_wc wc;
	int rc = qp_set(s->e.qp, IBV_QPS_RESET);

	while (ibv_poll_cq(s->e.rcq, 1, &wc) > 0 || ibv_poll_cq(s->e.scq, 1, &wc) > 0)
		;
	return rc ? rc : qp_up(&there, &s->o, s->e.qp, IBV_QPS_RTS, (uint32_t)cmd->a);
}

static int send_back(struct side *s, uint64_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)s->e.buf + off, len, s->e.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	return ibv_post_send(s->e.qp, &wr, &bad) ? TIMED_OUT : wait_status(s->e.scq);
}

static int next_event(struct side *s)
{
	struct pollfd fd = { .fd = s->c->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	if (poll(&fd, 1, WAIT_MS) != 1 || ibv_get_async_event(s->c->ctx, &e))
		return -1;
	ibv_ack_async_event(&e);
	return (int)e.event_type;
}

static int woken(struct side *s, int ms)
{
	struct pollfd fd = { .fd = s->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *ctx;

	if (poll(&fd, 1, ms) != 1 || ibv_get_cq_event(s->channel, &cq, &ctx))
		return 0;
	ibv_ack_cq_events(cq, 1);
	return cq == s->e.rcq;
}

static void completion(struct side *s, struct peer_answer *out)
{
	struct ibv_wc wc;

	out->v = wait_wc(s->e.rcq, &wc, WAIT_MS);
	out->w = wc.wr_id;
	out->x = wc.byte_len;
	out->y = wc.imm_data;
	out->z = wc.opcode;
}

static void serve_one(struct side *s, const struct peer_cmd *cmd, struct peer_answer *out)
{
	switch (cmd->op) {
	case PEER_HELLO:
		*out = (struct peer_answer){ .v = s->e.qp->qp_num, .w = (uintptr_t)s->e.buf,
					     .x = s->e.mr->rkey, .y = s->c->port.lid,
					     .gid = s->c->gid };
		break;
	case PEER_CONNECT:
		out->v = connect_to(s, cmd);
		break;
	case PEER_RECV:
		out->v = post_recv(&s->e, cmd->a, (uint32_t)cmd->b, cmd->n);
		break;
	case PEER_WC:
		completion(s, out);
		break;
	case PEER_SEND:
		out->v = send_back(s, cmd->b, cmd->n);
		break;
	case PEER_GET:
		memcpy(&out->w, s->e.buf + cmd->b, 8);
		break;
	case PEER_SET:
		memcpy(s->e.buf + cmd->b, &cmd->a, 8);
		break;
	case PEER_STATE:
		out->v = qp_state(s->e.qp);
		break;
	case PEER_EVENT:
		out->v = next_event(s);
		break;
	case PEER_ARM:
		out->v = ibv_req_notify_cq(s->e.rcq, 0);
		break;
	case PEER_WOKEN:
		out->v = woken(s, (int)cmd->a);
		break;
	}
}

/* Objects are left to the kernel, or to softverbs, when the socket closes: so do peers that die. */
int peer_serve(struct conf *c, int fd)
{
	struct side s = { .c = c };
	struct peer_cmd cmd;

	if (side_open(&s))
		return 1;
	while (recv(fd, &cmd, sizeof(cmd), 0) == sizeof(cmd)) {
		struct peer_answer out = { .v = 0 };

		serve_one(&s, &cmd, &out);
		if (send(fd, &out, sizeof(out), MSG_NOSIGNAL) != sizeof(out))
			return 1;
	}
	return 0;
}
