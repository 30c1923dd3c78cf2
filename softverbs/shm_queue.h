/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queues in an arena: CQ, receive queues, SRQ, and the responder half of a QP. */
#ifndef SOFTVERBS_SHM_QUEUE_H
#define SOFTVERBS_SHM_QUEUE_H

#include <infiniband/verbs.h>

#include "lock.h"

struct sv_cqe {
	uint32_t seq;			/* number of this CQE + 1, stored last */
	uint8_t status, opcode, flags, sl;
	uint64_t wr_id;
	uint32_t byte_len, imm, qpn, src_qp;
	uint32_t qp_idx, slot;		/* the local QP, and the WQE that is now free */
	uint16_t slid, pkey_index;
	uint8_t path_bits, is_send, solicited, pad;
	uint64_t ts;
} __attribute__((aligned(64)));

enum { SV_DISARMED, SV_ARMED_SOLICITED, SV_ARMED };

struct sv_cq_sh {
	struct sv_lock lock;		/* of the producers, and of arming */
	uint32_t idx, gen;		/* what its events carry */
	uint32_t mask, cap, prod, armed;
	uint32_t cons_seen;		/* cons is read again only when the ring looks full */
	uint32_t overrun, ignore_overrun, want_ts;
	uint32_t unread;		/* events in the channel */
	int32_t cpu;			/* of the last producer, when it pushed */
	int32_t chan_fd;		/* write end, -1: none */
	uint32_t chan_gen;
	uint64_t ring, ctx;
	uint32_t cons __attribute__((aligned(64)));
} __attribute__((aligned(64)));

struct sv_chan_msg {		/* into the pipe of a completion channel: this CQ has something */
	uint32_t idx, gen;
};

struct sv_rqe {
	uint64_t wr_id;
	uint32_t nsge, slot;
	struct ibv_sge sge[];
};

/*
 * Cache lines are by writer: what peers write at each request (the lock, sequence numbers, the
 * consumer index) is apart from what both ends only read, and from what the owner writes.
 */
struct sv_rq {		/* producer: the owner; consumers: under the lock of the QP or SRQ */
	uint32_t cons, prod_seen;	/* prod is read again only when that far */
	uint64_t ring __attribute__((aligned(64)));
	uint32_t mask, stride, cap;
	uint32_t prod __attribute__((aligned(64)));
};

struct sv_srq_sh {
	struct sv_lock lock;
	uint32_t idx, gen, pd, limit;
	uint64_t ctx;
	struct sv_rq rq;
} __attribute__((aligned(64)));

/* The responder half; the owner changes it under the lock too. */
struct sv_qp_sh {
	struct sv_lock lock;
	uint32_t epsn, established, last_wqe;
	uint64_t lost;			/* messages that UC and UD dropped here */
	uint32_t qpn __attribute__((aligned(64)));
	uint32_t state, type;
	uint32_t idx, pd, access, ver;	/* ver: counts changes, for what peers cached */
	uint32_t dest_qpn, qkey, mtu;
	uint32_t min_rnr, max_dest_rd, pkey_index, port;
	uint64_t ctx, recv_cq, srq;	/* srq 0: its own rq */
	struct ibv_ah_attr av;
	struct sv_rq rq;
} __attribute__((aligned(64)));

#endif
