/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operations, one record each, and the one table that says what may be combined: program,
 * transport and mode. Pure.
 */
#ifndef COMMON_OP_H
#define COMMON_OP_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "options.h"

enum op_kind {
	OP_WRITE,
	OP_WRITE_IMM,
	OP_SEND,
	OP_SEND_IMM,
	OP_READ,
	OP_FETCH_ADD,
	OP_CMP_SWAP,
	OP_KINDS
};

/* What a program is about; with the settings it gives the operation. */
enum op_family { FAMILY_WRITE, FAMILY_SEND, FAMILY_READ, FAMILY_ATOMIC };

/* Values of --transport. */
enum transport { TRANSPORT_RC, TRANSPORT_UC, TRANSPORT_UD, TRANSPORTS };

struct op {
	const char *name;          /* "RDMA WRITE with immediate" */
	enum ibv_wr_opcode opcode;
	uint64_t wr_ops;           /* IBV_QP_EX_WITH_... */
	int access;                /* what the responder's memory must allow, IBV_ACCESS_... */
	bool receives;             /* takes a receive of the responder */
	bool immediate;
	bool fetches;              /* the data comes back to the initiator; never inline */
	unsigned int transports;   /* mask of 1 << enum transport (IBTA vol. 1, table 9.3) */
};

const struct op *op_get(enum op_kind kind);
enum op_kind op_choose(enum op_family family, const struct settings *s);
/* The one of a lap: where messages may be lost a SEND says its number in its immediate data. */
enum op_kind op_of_laps(enum op_kind kind, enum transport t);

const char *transport_name(enum transport t);
enum ibv_qp_type transport_qp_type(enum transport t);
/* Messages may be lost without an error. */
static inline bool transport_loses(enum transport t)
{
	return t != TRANSPORT_RC;
}

#define UD_GRH_BYTES 40 /* before the payload of every UD receive */

/*
 * Whether the program can do what the settings ask for: 0, or -EINVAL with the reason in @why:
 * what the transport or the operation lacks, and what to use instead.
 */
int op_check(enum op_family family, bool bandwidth, const struct settings *s, char *why, size_t cap);

/* Receives that are posted for each QP, or on the SRQ for all; 0 where none is taken. */
unsigned int op_receives_posted(const struct op *op, const struct settings *s);
/* Every so many sends are signaled. */
unsigned int op_cq_mod(const struct settings *s);

#endif
