/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For the tests of the device: each case runs in a process of its own, since the SPEC belongs to
 * a process, with a fabric of its own; and a pair of connected QPs in it, or across a fork.
 */
#ifndef TESTS_SOFTVERBS_SOFT_H
#define TESTS_SOFTVERBS_SOFT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s (errno %s)\n", __FILE__, __LINE__, #cond,       \
				strerror(errno));                                                  \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* One end: everything a QP needs. */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_port_attr port;
	uint8_t *buf;
	size_t len;
};

struct addr {			/* what ends tell each other */
	uint32_t qpn, rkey;
	uint64_t va;
	uint16_t lid;
	union ibv_gid gid;
};

static inline double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static inline void fabric_remove(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/shm/softverbs-%u-t%d/fabric", (unsigned int)geteuid(),
		 (int)pid);
	unlink(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
}

/* Runs f in a child with this SPEC: 0 when it returned (or exited with) 0; at most 60 s. */
static inline int in_child(const char *spec, int (*f)(void))
{
	int status, fds[2];
	pid_t pid;

	fflush(NULL);
	if (pipe(fds))
		return -1;
	pid = fork();
	if (pid == 0) {
		char name[32];

		snprintf(name, sizeof(name), "t%d", (int)getpid());
		setenv("SOFTVERBS_FABRIC", name, 1);
		if (spec)
			setenv("SOFTVERBS", spec, 1);
		else
			unsetenv("SOFTVERBS");
		alarm(60);
		exit(f());
	}
	close(fds[0]);
	close(fds[1]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	fabric_remove(pid);	/* who was killed last could not */
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void end_open(struct end *e, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK(list);
	memset(e, 0, sizeof(*e));
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			e->ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	CHECK(e->ctx);
	CHECK(!ibv_query_port(e->ctx, 1, &e->port));
	e->pd = ibv_alloc_pd(e->ctx);
	CHECK(e->pd);
}

static inline void end_memory(struct end *e, size_t len)
{
	e->len = len;
	e->buf = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(e->buf != MAP_FAILED);
	e->mr = ibv_reg_mr(e->pd, e->buf, len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(e->mr);
}

static inline void end_qp(struct end *e, enum ibv_qp_type type, int depth)
{
	struct ibv_qp_init_attr a = {
		.qp_type = type,
		.cap = { .max_send_wr = (uint32_t)depth, .max_recv_wr = (uint32_t)depth,
			 .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64 },
	};
	struct ibv_qp_attr q = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11,
				 .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

	if (!e->cq)
		e->cq = ibv_create_cq(e->ctx, 4 * depth, NULL, NULL, 0);
	CHECK(e->cq);
	a.send_cq = a.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &a);
	CHECK(e->qp);
	CHECK(!ibv_modify_qp(e->qp, &q, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

static inline struct addr end_addr(const struct end *e)
{
	struct addr a = { .qpn = e->qp->qp_num, .lid = e->port.lid };

	if (e->mr) {
		a.rkey = e->mr->rkey;
		a.va = (uintptr_t)e->buf;
	}
	CHECK(!ibv_query_gid(e->ctx, 1, 0, &a.gid));
	return a;
}

struct knobs {
	uint8_t timeout, retry, rnr_retry, min_rnr;
};

/* To RTS against to; timeout 10 (4.2 ms), 3 retries, RNR 3 times 0.64 ms unless k says. */
static inline void end_connect(struct end *e, const struct addr *to, const struct knobs *k)
{
	static const struct knobs usual = { 10, 3, 3, 12 };
	int rc = e->qp->qp_type == IBV_QPT_RC, ud = e->qp->qp_type == IBV_QPT_UD;
	int eth = e->port.link_layer == IBV_LINK_LAYER_ETHERNET;
	struct ibv_qp_attr q = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024 };

	k = k ? k : &usual;
	q.dest_qp_num = to->qpn;
	q.max_dest_rd_atomic = q.max_rd_atomic = 4;
	q.min_rnr_timer = k->min_rnr;
	q.ah_attr.dlid = to->lid;
	q.ah_attr.port_num = 1;
	q.ah_attr.is_global = (uint8_t)eth;
	q.ah_attr.grh.dgid = to->gid;
	CHECK(!ibv_modify_qp(e->qp, &q, ud ? IBV_QP_STATE : IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)));
	q.qp_state = IBV_QPS_RTS;
	q.timeout = k->timeout;
	q.retry_cnt = k->retry;
	q.rnr_retry = k->rnr_retry;
	CHECK(!ibv_modify_qp(e->qp, &q, IBV_QP_STATE | IBV_QP_SQ_PSN | (rc ? IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0)));
}

static inline void end_close(struct end *e)
{
	if (e->qp)
		CHECK(!ibv_destroy_qp(e->qp));
	if (e->cq)
		CHECK(!ibv_destroy_cq(e->cq));
	if (e->mr)
		CHECK(!ibv_dereg_mr(e->mr));
	if (e->buf)
		munmap(e->buf, e->len);
	CHECK(!ibv_dealloc_pd(e->pd));
	CHECK(!ibv_close_device(e->ctx));
}

/* Two connected ends in this process, with memory of len bytes each. */
static inline void pair_open(struct end *a, struct end *b, enum ibv_qp_type type, size_t len,
			     const struct knobs *k)
{
	struct addr aa, ab;

	end_open(a, "soft0");
	end_open(b, "soft0");
	end_memory(a, len);
	end_memory(b, len);
	end_qp(a, type, 64);
	end_qp(b, type, 64);
	aa = end_addr(a);
	ab = end_addr(b);
	end_connect(a, &ab, k);
	end_connect(b, &aa, k);
}

static inline int post(struct end *e, enum ibv_wr_opcode op, uint64_t id, void *from, uint32_t len,
		       const struct addr *to, uint64_t offset, unsigned int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)from, .length = len, .lkey = e->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = op,
				  .send_flags = flags }, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = to->va + offset;
		wr.wr.atomic.rkey = to->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = to ? to->va + offset : 0;
		wr.wr.rdma.rkey = to ? to->rkey : 0;
	}
	return ibv_post_send(e->qp, &wr, &bad);
}

static inline int post_recv(struct end *e, uint64_t id, void *into, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)into, .length = len, .lkey = e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(e->qp, &wr, &bad);
}

/* One completion within limit seconds; false when none came. */
static inline int reap(struct end *e, struct ibv_wc *wc, double limit)
{
	double until = seconds() + limit;
	int n;

	do {
		n = ibv_poll_cq(e->cq, 1, wc);
		if (n)
			return n == 1;
	} while (seconds() < until);
	return 0;
}

#endif
