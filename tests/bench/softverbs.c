/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Speed of softverbs against what the same two cores and pages do bare (make bench-softverbs).
 * Two processes; blocks of laps of the bare and the verbs ping-pong alternate inside them, since
 * a hop between cores depends on their placement, and on the day. Blocks are cut by the least:
 * the quietest block of each kind is what the code costs; the median is printed beside it.
 */
#include <poll.h>

#include "../../softverbs/mem.h"
#include "../softverbs/soft.h"

#define BLOCKS 60
#define LAPS 2000
#define BIG 65536
#define AREA (1 << 21)

struct shared {
	struct addr addr[2];
	volatile int ready[2], phase;
	int pipe[2][2];
};

static struct shared *sh;
static struct end e;
static int me;
static uint64_t laps;

static void meet(int n)
{
	__atomic_add_fetch(&sh->phase, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&sh->phase, __ATOMIC_ACQUIRE) < 2 * n)
		sched_yield();
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *what, double *v, int n, const char *unit)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	if (me == 0)
		printf("%-44s %10.1f best, %10.1f median %s\n", what, v[0], v[n / 2], unit);
}

/* The word that each end waits for is in its own buffer; where it writes is the peer's. */
static volatile uint64_t *mine;
static volatile uint64_t *theirs;	/* the peer's page, mapped here: the bare way */

static void wait_word(uint64_t v)
{
	while (__atomic_load_n(mine, __ATOMIC_ACQUIRE) != v)
		;
}

static void bare(uint64_t v)
{
	if (me == 0) {
		__atomic_store_n(theirs, v, __ATOMIC_RELEASE);
		wait_word(v);
	} else {
		wait_word(v);
		__atomic_store_n(theirs, v, __ATOMIC_RELEASE);
	}
}

static void write_word(uint64_t v)
{
	struct ibv_wc wc;

	*(uint64_t *)(void *)(e.buf + 4096) = v;
	post(&e, IBV_WR_RDMA_WRITE, 0, e.buf + 4096, 8, &sh->addr[!me], 0, IBV_SEND_SIGNALED);
	while (!ibv_poll_cq(e.cq, 1, &wc))
		;
}

static void verbs(uint64_t v)
{
	if (me == 0) {
		write_word(v);
		wait_word(v);
	} else {
		wait_word(v);
		write_word(v);
	}
}

static double block(void (*lap)(uint64_t), int n)
{
	double t0 = seconds();

	for (int i = 0; i < n; i++)
		lap(++laps);
	return (seconds() - t0) / n / 2 * 1e9;
}

static void latency(void)
{
	static double b[BLOCKS], v[BLOCKS], d[BLOCKS];

	for (int i = 0; i < BLOCKS; i++) {
		b[i] = block(bare, LAPS);
		v[i] = block(verbs, LAPS);
		d[i] = v[i] - b[i];
	}
	print("8 B one way, bare shared memory", b, BLOCKS, "ns");
	print("8 B one way, WRITE", v, BLOCKS, "ns");
	print("  difference of neighbouring blocks", d, BLOCKS, "ns");
}

/* ns a message of n, a completion for each `each` of them. */
static double stream(enum ibv_wr_opcode op, int n, int each)
{
	struct ibv_wc wc;
	double t0 = seconds();

	for (int k = 1; k <= n; k++) {
		post(&e, op, 0, e.buf + BIG, BIG, &sh->addr[1], BIG,
		     k % each ? 0 : IBV_SEND_SIGNALED);
		if (k % each == 0)
			while (!ibv_poll_cq(e.cq, 1, &wc))
				;
	}
	return (seconds() - t0) / n * 1e9;
}

static double copies(enum ibv_wr_opcode op, int n)
{
	uint8_t *far = (uint8_t *)(uintptr_t)theirs + BIG, *near = e.buf + BIG;
	double t0 = seconds();

	for (int k = 0; k < n; k++) {
		if (op == IBV_WR_RDMA_READ)
			memcpy(near, far, BIG);
		else
			memcpy(far, near, BIG);
		__asm__ volatile("" ::: "memory");
	}
	return (seconds() - t0) / n * 1e9;
}

static void big(enum ibv_wr_opcode op, const char *what)
{
	static double m[BLOCKS], v[BLOCKS], s[BLOCKS], pv[BLOCKS], ps[BLOCKS];

	if (me != 0)
		return;
	for (int i = 0; i < BLOCKS; i++) {
		m[i] = copies(op, 320);
		v[i] = stream(op, 320, 1);
		s[i] = stream(op, 320, 16);
		pv[i] = -100 * m[i] / v[i];	/* so that the most comes first */
		ps[i] = -100 * m[i] / s[i];
	}
	printf("%s\n", what);
	print("  memcpy between the two processes", m, BLOCKS, "ns");
	print("  softverbs, one completion for 16", s, BLOCKS, "ns");
	print("  softverbs, each with a completion", v, BLOCKS, "ns");
	qsort(pv, BLOCKS, sizeof(*pv), by_value);
	qsort(ps, BLOCKS, sizeof(*ps), by_value);
	printf("  of memcpy, by neighbouring blocks: %.1f %% for 16, %.1f %% each (medians)\n",
	       -ps[BLOCKS / 2], -pv[BLOCKS / 2]);
}

static void rate(enum ibv_wr_opcode op, const char *what)
{
	struct ibv_wc wc;
	double least = 1e9;

	for (int i = 0; i < 20; i++) {
		int n = 20000;
		double t0 = seconds();

		for (int k = 1; k <= n && me == 0; k++) {
			post(&e, op, 0, e.buf + 4096, 8, &sh->addr[1], 0,
			     k % 16 ? 0 : IBV_SEND_SIGNALED);
			if (k % 16 == 0)
				while (!ibv_poll_cq(e.cq, 1, &wc))
					;
		}
		if (seconds() - t0 < least)
			least = seconds() - t0;
	}
	if (me == 0)
		printf("%-44s %10.2f million a second\n", what, 20000 / least / 1e6);
}

/* SENDs need receives: the peer posts 256, polls them, and posts again. */
static void send_rate(void)
{
	struct ibv_wc wc[64];
	double best = 0;
	int total = 400000, block_of = 20000, n;

	if (me == 1) {
		for (int i = 0; i < 1024; i++)
			post_recv(&e, 0, e.buf, 64);
		meet(3);
		for (int got = 0; got < total; got += n) {
			n = ibv_poll_cq(e.cq, 64, wc);
			for (int i = 0; i < n; i++)
				post_recv(&e, 0, e.buf, 64);
		}
		return;
	}
	meet(3);
	for (int k = 0; k < total; k += block_of) {
		double t0 = seconds();

		for (int i = 1; i <= block_of; i++) {
			post(&e, IBV_WR_SEND, 0, e.buf + 4096, 8, NULL, 0,
			     i % 16 ? 0 : IBV_SEND_SIGNALED);
			if (i % 16 == 0)
				while (!ibv_poll_cq(e.cq, 1, wc))
					;
		}
		if (block_of / (seconds() - t0) > best)
			best = block_of / (seconds() - t0);
	}
	printf("%-44s %10.2f million a second (best block)\n", "8 B SEND from one thread",
	       best / 1e6);
}

static void registration(void)
{
	double best = 1e9, back = 1e9;
	size_t len = 64u << 20;

	for (int i = 0; i < 5 && me == 0; i++) {
		uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct ibv_mr *mr;
		double t0;

		memset(p, 1, len);
		t0 = seconds();
		mr = ibv_reg_mr(e.pd, p, len, IBV_ACCESS_LOCAL_WRITE);
		CHECK(mr);
		if (seconds() - t0 < best)
			best = seconds() - t0;
		t0 = seconds();
		ibv_dereg_mr(mr);
		if (seconds() - t0 < back)
			back = seconds() - t0;
		munmap(p, len);
	}
	if (me == 0)
		printf("%-44s %10.1f ms, back %.1f ms\n", "registration of 64 MiB, touched",
		       best * 1e3, back * 1e3);
}

static void pipe_lap(uint64_t v)
{
	char c = 1;

	(void)v;
	if (me == 0)
		CHECK(write(sh->pipe[0][1], &c, 1) == 1 && read(sh->pipe[1][0], &c, 1) == 1);
	else
		CHECK(read(sh->pipe[0][0], &c, 1) == 1 && write(sh->pipe[1][1], &c, 1) == 1);
}

static void event_wait(struct ibv_comp_channel *ch, int *got)
{
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *ctx;

	for (;;) {
		while (ibv_poll_cq(e.cq, 1, &wc))
			if (wc.opcode & IBV_WC_RECV)
				(*got)++;
		if (*got)
			return;
		CHECK(!ibv_get_cq_event(ch, &cq, &ctx));
		ibv_ack_cq_events(cq, 1);
		CHECK(!ibv_req_notify_cq(cq, 0));
	}
}

static struct ibv_comp_channel *channel;

static void event_lap(uint64_t v)
{
	int got = 0;

	(void)v;
	post_recv(&e, 0, e.buf, 64);
	if (me == 1) {
		event_wait(channel, &got);
		post(&e, IBV_WR_SEND, 0, e.buf, 8, NULL, 0, IBV_SEND_SIGNALED);
	} else {
		post(&e, IBV_WR_SEND, 0, e.buf, 8, NULL, 0, IBV_SEND_SIGNALED);
		event_wait(channel, &got);
	}
}

static void events(void)
{
	static double p[20], v[20];

	channel = e.cq->channel;
	ibv_req_notify_cq(e.cq, 0);
	post_recv(&e, 0, e.buf, 64);
	for (int i = 0; i < 20; i++) {
		p[i] = block(pipe_lap, 100);
		v[i] = block(event_lap, 100);
	}
	print("one way by a pipe, asleep", p, 20, "ns");
	print("one way by SEND and a completion event", v, 20, "ns");
}

static int run(void)
{
	struct ibv_comp_channel *ch;
	struct knobs k = { 14, 7, 7, 1 };

	pin(me);
	end_open(&e, "soft0");
	end_memory(&e, AREA);
	memset(e.buf, 0, AREA);
	ch = ibv_create_comp_channel(e.ctx);
	e.cq = ibv_create_cq(e.ctx, 4096, NULL, ch, 0);
	end_qp(&e, IBV_QPT_RC, 2048);
	sh->addr[me] = end_addr(&e);
	meet(1);
	end_connect(&e, &sh->addr[!me], &k);
	meet(2);
	mine = (volatile uint64_t *)(void *)e.buf;
	return 0;
}

/* The peer's registered pages as the device maps them. */
static uint8_t *far_pages(const struct addr *a)
{
	struct sv_seg seg[SV_PIECES];
	uint32_t owner, off;
	struct sv_peer *p;

	CHECK(sv_qpn_find(a->qpn, &owner, &off));
	p = sv_peer_get(owner);
	CHECK(p && sv_mr_find(p, a->rkey));
	CHECK(sv_mr_segs(p, a->rkey, sv_mr_find(p, a->rkey)->pd, 0, a->va, AREA, seg) == 1);
	return seg[0].p;
}

static int all(void)
{
	CHECK(!run());
	theirs = (volatile uint64_t *)(void *)far_pages(&sh->addr[!me]);
	latency();
	big(IBV_WR_RDMA_WRITE, "64 KiB WRITE");
	big(IBV_WR_RDMA_READ, "64 KiB READ");
	rate(IBV_WR_RDMA_WRITE, "8 B WRITE from one thread");
	send_rate();
	meet(4);
	events();
	registration();
	return 0;
}

int main(void)
{
	int status = 0;
	pid_t pid;

	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setenv("SOFTVERBS", "soft0", 1);
	CHECK(!pipe(sh->pipe[0]) && !pipe(sh->pipe[1]));
	pid = fork();
	if (!pid) {
		me = 1;
		return all();
	}
	if (all())
		return 1;
	waitpid(pid, &status, 0);
	return status != 0;
}
