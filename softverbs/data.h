/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The data path: what a send queue does with its work requests. All under qp->lock. */
#ifndef SOFTVERBS_DATA_H
#define SOFTVERBS_DATA_H

#include "qp.h"

/*
 * What became of a request: a wc status for the requester, or one of these. NAK_RNR waits and
 * comes again, LOST had no answer (RC: comes again after the timeout, others: done).
 */
enum { SV_NAK_RNR = 256, SV_LOST };

/* One work request on its way: gathered pieces of local memory, and the responder. */
struct sv_job {
	struct sv_qp *qp;
	struct sv_wqe *w;
	struct sv_peer *p;
	struct sv_qp_sh *d;		/* locked */
	struct sv_seg seg[SV_SEGS];
	int nseg;
	unsigned int fault;		/* SV_CORRUPT, SV_FLIP ... */
	uint64_t flip;
};

struct sv_taken {			/* a receive WQE taken by the responder */
	uint64_t wr_id;
	uint32_t nsge, slot, qp_idx;
	struct ibv_sge sge[SV_MAX_SGE];
};

/* sq.c: everything that is due; sets up the next look when something waits. */
void sv_sq_run(struct sv_qp *qp);
void sv_sq_flush_state(struct sv_qp *qp, enum ibv_qp_state state);

/* exec.c: one request takes effect. A wc status, or -1: it waits until sq.retry_at. */
int sv_exec(struct sv_qp *qp, struct sv_wqe *w);
int sv_gather(struct sv_job *j);
int sv_exec_ud(struct sv_job *j);

/* conn.c: the connected QP, locked, or NULL when no packet would reach it. */
struct sv_qp_sh *sv_conn_lock(struct sv_qp *qp);
void sv_conn_drop(struct sv_qp *qp);
/* Looks up the process and the QP that qp is connected to. False: not there (yet). */
bool sv_conn_find(struct sv_qp *qp);
bool sv_path_ok(const struct ibv_ah_attr *av, const struct spec_port *to);
bool sv_pkey_ok(uint16_t a, uint16_t b);
const struct spec_port *sv_port_of(struct sv_peer *p, const struct sv_qp_sh *d);
uint32_t sv_packets(const struct sv_qp *qp, uint64_t len);

/* warm.c: at RTS, so that the first request does not pay for what it is the first to touch. */
void sv_conn_warm(struct sv_qp *qp);

/* resp.c: the responder's part, d locked. */
int sv_respond(struct sv_job *j);
int sv_take(struct sv_peer *p, struct sv_qp_sh *d, struct sv_taken *t);
int sv_scatter(struct sv_peer *p, const struct sv_qp_sh *d, const struct sv_taken *t,
	       struct sv_seg *seg, uint64_t *room);
void sv_recv_done(struct sv_job *j, const struct sv_taken *t, int status, uint64_t len);
/* Error state: flushes the receive queue; event < 0: none. */
void sv_resp_error(struct sv_peer *p, struct sv_qp_sh *d, int event);
void sv_rq_flush(struct sv_peer *p, struct sv_qp_sh *d);

/* atomic.c: the old value in *old; a wc status. */
int sv_atomic(struct sv_peer *p, const struct sv_seg *at, const struct sv_wqe *w, uint64_t *old);

#endif
