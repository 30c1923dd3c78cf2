/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* P_Keys: equal ones reach each other, others do not, nor do two limited members. */
#include <arpa/inet.h>

#include "pair.h"

#define CLAUSE "IBTA 10.9.3, 9.6.1.1"
#define FULL 0x8000
#define TABLE 16

struct table {
	uint16_t key[TABLE];
	int n;
};

static void read_table(struct conf *c, struct table *t)
{
	__be16 key;

	for (t->n = 0; t->n < TABLE && t->n < c->port.pkey_tbl_len; t->n++) {
		if (ibv_query_pkey(c->ctx, c->port_num, t->n, &key))
			break;
		t->key[t->n] = ntohs(key);
	}
}

/* The first entry with this base (0: any other than that of `not`) and membership, or -1. */
static int find(const struct table *t, uint16_t base, uint16_t not, uint16_t member)
{
	for (int i = 0; i < t->n; i++) {
		uint16_t b = t->key[i] & 0x7fff;

		if (b && b != (not & 0x7fff) && (!base || b == base) &&
		    (t->key[i] & FULL) == member)
			return i;
	}
	return -1;
}

/* Both ends anew, each with its index. */
static int connect_with(struct pair *p, int a, int b)
{
	struct opt o = p->o;

	if (qp_set(p->a.qp, IBV_QPS_RESET) || qp_set(p->b.qp, IBV_QPS_RESET))
		return -1;
	o.pkey_index = (uint16_t)b;
	if (qp_up(p->c, &o, p->b.qp, IBV_QPS_RTS, p->a.qp->qp_num))
		return -1;
	o.pkey_index = (uint16_t)a;
	return qp_up(p->c, &o, p->a.qp, IBV_QPS_RTS, p->b.qp->qp_num);
}

static void reliable(struct conf *c, int a, int b, bool reach, const char *what)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct pair p;

	o.timeout = 10;
	o.retry = 1;
	if (pair_open(c, &p, &o))
		return;
	p.a.buf[0] = 1;
	if (check(c, !connect_with(&p, a, b), "IBTA 11.2.5.2", "RC, %s: connected", what)) {
		check_eq(c, do_wr(&p, &w), reach ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR, CLAUSE,
			 "RC, %s: a WRITE %s", what, reach ? "is done" : "is not answered");
		check_eq(c, p.b.buf[0], reach, CLAUSE, "RC, %s: %s is written", what,
			 reach ? "it" : "nothing");
	}
	pair_close(&p);
}

static void datagram(struct conf *c, int a, int b)
{
	struct opt o = opt_default(IBV_QPT_UD);
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	if (!connect_with(&p, a, b)) {
		post_recv(&p.b, 1, 0, 100);
		check_eq(c, do_wr(&p, &w), IBV_WC_SUCCESS, "IBTA 9.8.3",
			 "UD, two keys: a SEND is done for its sender");
		check(c, quiet(p.b.rcq), CLAUSE, "UD, two keys: and not received");
	}
	if (!connect_with(&p, b, b)) {
		post_recv(&p.b, 2, 0, 100);
		check(c, do_wr(&p, &w) == IBV_WC_SUCCESS && wait_status(p.b.rcq) == IBV_WC_SUCCESS,
		      CLAUSE, "UD, one key: received");
	}
	pair_close(&p);
}

void run_pkey(struct conf *c)
{
	struct table t;
	int a, b, limited;

	read_table(c, &t);
	a = find(&t, 0, 0, FULL);
	b = a < 0 ? -1 : find(&t, 0, t.key[a], FULL);
	if (b < 0) {
		skip(c, "the table has no two keys", "P_Keys");
		return;
	}
	reliable(c, a, b, false, "two keys");
	reliable(c, b, b, true, "the second key");
	datagram(c, a, b);
	limited = find(&t, t.key[b] & 0x7fff, 0, 0);
	if (limited < 0) {
		skip(c, "the table has no limited member of its second key", "limited members");
		return;
	}
	reliable(c, limited, b, true, "a limited and a full member");
	reliable(c, limited, limited, false, "two limited members");
}
