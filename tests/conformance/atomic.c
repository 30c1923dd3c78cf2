/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* FETCH_ADD and CMP_SWAP on RC: 64 bits in the byte order of the host. */
#include <string.h>

#include "pair.h"

#define CLAUSE "IBTA 9.4.5"

static uint64_t get(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static void put(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, 8);
}

static void fetch_add(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = 3, .len = 8, .remote = 64,
			.compare = 5 };
	struct ibv_wc wc;

	put(p->b.buf + 64, 0x1122334455667788u);
	check_eq(c, post(p, &w), 0, CLAUSE, "FETCH_ADD is taken");
	check(c, wait_wc(p->a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 3 &&
	      wc.opcode == IBV_WC_FETCH_ADD, CLAUSE, "and done, with IBV_WC_FETCH_ADD");
	check_eq(c, (long long)get(p->a.buf), 0x1122334455667788, CLAUSE,
		 "FETCH_ADD returns what was there");
	check_eq(c, (long long)get(p->b.buf + 64), 0x112233445566778d, CLAUSE,
		 "FETCH_ADD stores the sum");
	put(p->b.buf + 64, UINT64_MAX);
	w.compare = 2;
	check(c, do_wr(p, &w) == IBV_WC_SUCCESS && get(p->b.buf + 64) == 1, CLAUSE,
	      "FETCH_ADD wraps at 2^64");
}

static void cmp_swap(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_ATOMIC_CMP_AND_SWP, .id = 4, .len = 8, .remote = 8,
			.compare = 100, .swap = 200 };
	struct ibv_wc wc;

	put(p->b.buf + 8, 100);
	check_eq(c, post(p, &w), 0, CLAUSE, "CMP_SWAP is taken");
	check(c, wait_wc(p->a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 4 &&
	      wc.opcode == IBV_WC_COMP_SWAP, CLAUSE, "and done, with IBV_WC_COMP_SWAP");
	check(c, get(p->a.buf) == 100 && get(p->b.buf + 8) == 200, CLAUSE,
	      "where equal, CMP_SWAP returns the old value and stores the new");
	check(c, do_wr(p, &w) == IBV_WC_SUCCESS && get(p->a.buf) == 200 &&
	      get(p->b.buf + 8) == 200, CLAUSE,
	      "where not equal, CMP_SWAP returns the old value and stores nothing");
}

static void many(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .compare = 1 };
	struct ibv_wc wc;
	int bad = 0;

	for (uint32_t i = 0; i < 12; i++) {
		w.id = i;
		w.off = 8 * i;
		bad += post(p, &w) != 0;
	}
	for (uint64_t i = 0; i < 12; i++)
		bad += wait_wc(p->a.scq, &wc, WAIT_MS) != IBV_WC_SUCCESS || wc.wr_id != i ||
		       get(p->a.buf + 8 * i) != i;
	check(c, !bad && get(p->b.buf) == 12, "IBTA 9.4.5, 9.7.3.1",
	      "twelve FETCH_ADDs are done once each, in order");
}

static void wrong(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .remote = 4, .compare = 1 };

	int status = do_wr(p, &w);

	check_eq(c, status, IBV_WC_REM_INV_REQ_ERR, "IBTA 9.4.5, 9.7.4.1.6",
		 "an address that is not a multiple of 8 is an invalid request");
	check_eq(c, (long long)get(p->b.buf), 0, "IBTA 9.4.5", "and nothing was added");
	if (status < 0)
		return;
	check_eq(c, wait_state(p->a.qp, IBV_QPS_ERR), IBV_QPS_ERR, "IBTA 9.9.2.3",
		 "the requester's QP is in ERR");
	check_eq(c, wait_state(p->b.qp, IBV_QPS_ERR), IBV_QPS_ERR, "IBTA 9.9.3.1",
		 "the responder's QP is in ERR");
}

void run_atomic(struct conf *c)
{
	static void (*const parts[])(struct conf *, struct pair *) = { fetch_add, cmp_swap, many,
								       wrong };
	struct opt o = opt_default(IBV_QPT_RC);
	struct pair p;

	if (c->dev.atomic_cap == IBV_ATOMIC_NONE) {
		skip(c, "the device has no atomic operations", "atomic operations");
		return;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (pair_open(c, &p, &o))
			return;
		parts[i](c, &p);
		pair_close(&p);
	}
}
