/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Registration: rights, ranges, keys, and what a region holds on to. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "pair.h"

static char page[8192] __attribute__((aligned(4096)));

static void rights(struct conf *c)
{
	static const struct {
		int access;
		bool ok;
		const char *what;
	} rows[] = {
		{ 0, true, "no right but local read" },
		{ IBV_ACCESS_LOCAL_WRITE, true, "local write" },
		{ IBV_ACCESS_REMOTE_READ, true, "remote read without local write" },
		{ ALL_ACCESS, true, "all rights" },
		{ IBV_ACCESS_REMOTE_WRITE, false, "remote write without local write" },
		{ IBV_ACCESS_REMOTE_ATOMIC, false, "remote atomic without local write" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_mr *mr = ibv_reg_mr(c->pd, page, 4096, rows[i].access);

		check(c, !mr == !rows[i].ok, "ibv_reg_mr(3)", "%s is %s", rows[i].what,
		      rows[i].ok ? "accepted" : "refused");
		if (mr)
			ibv_dereg_mr(mr);
	}
}

static void ranges(struct conf *c)
{
	struct ibv_mr *a, *b;
	void *hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(hole, 8192);
	a = ibv_reg_mr(c->pd, hole, 8192, IBV_ACCESS_LOCAL_WRITE);
	check(c, !a, "ibv_reg_mr(3)", "memory that is not mapped is refused");
	if (a)
		ibv_dereg_mr(a);
	a = ibv_reg_mr(c->pd, page + 1, 13, ALL_ACCESS);
	check(c, a != NULL, "IBTA 10.6.3.1", "a region may begin and end at any byte");
	if (a)
		check(c, a->addr == page + 1 && a->length == 13 && a->pd == c->pd, "ibv_reg_mr(3)",
		      "the region says its address, length and PD");
	b = ibv_reg_mr(c->pd, page, 8192, ALL_ACCESS);
	check(c, b != NULL, "IBTA 10.6.3.1", "regions may overlap");
	if (a && b)
		check(c, a->lkey != b->lkey, "IBTA 10.6.3.3", "each region has keys of its own");
	if (a)
		check_eq(c, ibv_dereg_mr(a), 0, "ibv_dereg_mr(3)", "one of two is given up");
	if (b)
		check_eq(c, ibv_dereg_mr(b), 0, "ibv_dereg_mr(3)", "the other too");
}

/* A key that comes back at once would let a stale one work again. */
static void generations(struct conf *c)
{
	uint32_t old = 0;
	int same = 0;

	for (int i = 0; i < 8; i++) {
		struct ibv_mr *mr = ibv_reg_mr(c->pd, page, 4096, ALL_ACCESS);

		if (!mr)
			break;
		same += i && mr->rkey == old;
		old = mr->rkey;
		ibv_dereg_mr(mr);
	}
	check_eq(c, same, 0, "IBTA 10.6.3.3", "the next region does not get the key just given up");
}

static void holds(struct conf *c)
{
	struct ibv_pd *pd = ibv_alloc_pd(c->ctx);
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, page, 4096, 0) : NULL;

	if (mr) {
		check_eq(c, ibv_dealloc_pd(pd), EBUSY, "IBTA 11.2.1.5, ibv_dealloc_pd(3)",
			 "a PD with a region is not given up");
		ibv_dereg_mr(mr);
	}
	if (pd)
		check_eq(c, ibv_dealloc_pd(pd), 0, "ibv_dealloc_pd(3)", "an empty PD is given up");
}

/* The region keeps its pages, whatever becomes of the mapping. */
static void unmapped(struct conf *c)
{
	void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(c->pd, m, 4096, ALL_ACCESS);

	munmap(m, 4096);
	if (mr)
		check_eq(c, ibv_dereg_mr(mr), 0, "ibv_dereg_mr(3)",
			 "a region whose memory was unmapped is given up");
}

void run_memory(struct conf *c)
{
	rights(c);
	ranges(c);
	generations(c);
	holds(c);
	unmapped(c);
}
