/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting work on a pair, and bounded waits for what comes of it. */
#ifndef CONFORMANCE_WORK_H
#define CONFORMANCE_WORK_H

#include "conf.h"

#define WAIT_MS 5000	/* for what must come */
#define QUIET_MS 100	/* for what must not come */
#define TIMED_OUT (-1)	/* in place of a status: nothing came */

struct pair;
struct end;

/* Work requests; len bytes at off of the own buffer. errno or 0. */
struct wr {
	enum ibv_wr_opcode op;
	unsigned int flags;
	uint64_t id;
	uint32_t off, len;
	uint64_t remote;	/* offset in the peer's buffer */
	uint32_t rkey;		/* 0: the peer's */
	uint32_t lkey;		/* 0: the own */
	__be32 imm;
	uint64_t compare, swap;
};
void wr_fill(struct pair *p, const struct wr *w, struct ibv_send_wr *wr, struct ibv_sge *sge);
int post(struct pair *p, const struct wr *w);		/* on a */
int post_recv(struct end *e, uint64_t id, uint32_t off, uint32_t len);

/* The next completion within ms: its status, or TIMED_OUT. */
int wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, int ms);
int wait_status(struct ibv_cq *cq);		/* WAIT_MS */
/* A check that the next completion has this status and wr_id. */
bool check_wc(struct conf *c, struct ibv_cq *cq, int status, uint64_t wr_id, const char *clause,
	      const char *name);
bool quiet(struct ibv_cq *cq);			/* nothing within QUIET_MS */
/* Posts on a and waits for its completion: the status, or -errno - 1000 if posting failed. */
int do_wr(struct pair *p, const struct wr *w);
int wait_state(struct ibv_qp *qp, enum ibv_qp_state want);	/* the state seen last */
double now_ms(void);

#endif
