/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "op.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define ON_RC (1u << TRANSPORT_RC)
#define ON_UC (1u << TRANSPORT_UC)
#define ON_UD (1u << TRANSPORT_UD)

static const struct op ops[OP_KINDS] = {
	[OP_WRITE] = {
		.name = "RDMA WRITE",
		.opcode = IBV_WR_RDMA_WRITE,
		.wr_ops = IBV_QP_EX_WITH_RDMA_WRITE,
		.access = IBV_ACCESS_REMOTE_WRITE,
		.transports = ON_RC | ON_UC,
	},
	[OP_WRITE_IMM] = {
		.name = "RDMA WRITE with immediate",
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.wr_ops = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
		.access = IBV_ACCESS_REMOTE_WRITE,
		.receives = true,
		.immediate = true,
		.transports = ON_RC | ON_UC,
	},
	[OP_SEND] = {
		.name = "SEND",
		.opcode = IBV_WR_SEND,
		.wr_ops = IBV_QP_EX_WITH_SEND,
		.receives = true,
		.transports = ON_RC | ON_UC | ON_UD,
	},
	[OP_SEND_IMM] = {
		.name = "SEND with immediate",
		.opcode = IBV_WR_SEND_WITH_IMM,
		.wr_ops = IBV_QP_EX_WITH_SEND_WITH_IMM,
		.receives = true,
		.immediate = true,
		.transports = ON_RC | ON_UC | ON_UD,
	},
	[OP_READ] = {
		.name = "RDMA READ",
		.opcode = IBV_WR_RDMA_READ,
		.wr_ops = IBV_QP_EX_WITH_RDMA_READ,
		.access = IBV_ACCESS_REMOTE_READ,
		.fetches = true,
		.transports = ON_RC,
	},
	[OP_FETCH_ADD] = {
		.name = "FETCH_ADD",
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr_ops = IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
		.access = IBV_ACCESS_REMOTE_ATOMIC,
		.fetches = true,
		.transports = ON_RC,
	},
	[OP_CMP_SWAP] = {
		.name = "CMP_SWAP",
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.wr_ops = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
		.access = IBV_ACCESS_REMOTE_ATOMIC,
		.fetches = true,
		.transports = ON_RC,
	},
};

const struct op *op_get(enum op_kind kind)
{
	return &ops[kind];
}

enum op_kind op_choose(enum op_family family, const struct settings *s)
{
	switch (family) {
	case FAMILY_WRITE:
		return s->imm ? OP_WRITE_IMM : OP_WRITE;
	case FAMILY_SEND:
		return s->imm ? OP_SEND_IMM : OP_SEND;
	case FAMILY_READ:
		return OP_READ;
	default:
		return s->atomic ? OP_CMP_SWAP : OP_FETCH_ADD;
	}
}

enum op_kind op_of_laps(enum op_kind kind, enum transport t)
{
	return kind == OP_SEND && transport_loses(t) ? OP_SEND_IMM : kind;
}

static const struct {
	const char *name;
	enum ibv_qp_type type;
} transports[TRANSPORTS] = {
	[TRANSPORT_RC] = { "RC", IBV_QPT_RC },
	[TRANSPORT_UC] = { "UC", IBV_QPT_UC },
	[TRANSPORT_UD] = { "UD", IBV_QPT_UD },
};

const char *transport_name(enum transport t)
{
	return transports[t].name;
}

enum ibv_qp_type transport_qp_type(enum transport t)
{
	return transports[t].type;
}

unsigned int op_cq_mod(const struct settings *s)
{
	uint64_t half = s->tx_depth / 2 ? s->tx_depth / 2 : 1;

	if (s->cq_mod != OPTION_AUTO)
		return (unsigned int)s->cq_mod;
	return (unsigned int)(half < 64 ? half : 64);
}

/*
 * As many as are asked for, and those of a list that waits to be full. With an SRQ its depth is
 * for all QPs, each of which must have one receive at least.
 */
unsigned int op_receives_posted(const struct op *op, const struct settings *s)
{
	uint64_t lists = s->recv_post_list * (s->srq ? s->qps : 1), depth = s->rx_depth;

	if (!op->receives)
		return 0;
	if (s->srq && depth < s->qps)
		depth = s->qps;
	return (unsigned int)(depth + lists);
}

/* What a rule looks at. */
struct question {
	const struct op *op;
	const struct settings *s;
	bool bandwidth;
	enum transport transport;
};

static bool no_such_message(const struct question *q)
{
	return !(q->op->transports & (1u << q->transport));
}

static bool polls_memory(const struct question *q)
{
	return q->s->events && !q->bandwidth && !q->op->receives && !q->op->fetches;
}

static bool spins_without_events(const struct question *q)
{
	return q->s->spin_ns && !q->s->events;
}

static bool srq_without_receives(const struct question *q)
{
	return q->s->srq && !q->op->receives;
}

static bool cm_on_uc(const struct question *q)
{
	return q->s->rdma_cm && q->transport == TRANSPORT_UC;
}

static bool cm_and_path_bits(const struct question *q)
{
	return (q->s->rdma_cm || q->s->path_record) && q->s->path_bits;
}

static bool record_and_sl(const struct question *q)
{
	return q->s->path_record && option_given(q->s, "sl");
}

static bool both_directions(const struct question *q)
{
	return q->s->bidirectional && q->s->reversed;
}

static bool loss_on_rc(const struct question *q)
{
	return q->s->allow_loss && q->transport == TRANSPORT_RC;
}

static bool atomic_size(const struct question *q)
{
	return q->op->access == IBV_ACCESS_REMOTE_ATOMIC &&
	       (q->s->sizes.count != 1 || q->s->sizes.v[0] != 8);
}

static bool list_too_long(const struct question *q)
{
	return q->bandwidth && q->s->post_list > q->s->tx_depth;
}

static bool signals_too_rare(const struct question *q)
{
	return q->bandwidth && q->s->cq_mod != OPTION_AUTO && q->s->cq_mod > 1 && q->s->cq_mod > q->s->tx_depth / 2;
}

static bool recv_list_too_long(const struct question *q)
{
	return q->op->receives && q->s->recv_post_list > q->s->rx_depth;
}

static bool inline_fetch(const struct question *q)
{
	return q->op->fetches && q->s->inline_size != OPTION_AUTO && q->s->inline_size;
}

static bool srq_too_shallow(const struct question *q)
{
	return q->s->srq && q->op->receives && option_given(q->s, "rx-depth") &&
	       q->s->rx_depth < q->s->qps;
}

static bool relaxed_and_polled(const struct question *q)
{
	return !q->bandwidth && !q->op->receives && !q->op->fetches && q->s->relaxed_ordering == 1;
}

/* A mark of one byte comes again after 256 laps: its word still holds that of a round before. */
static bool marks_come_again(const struct question *q)
{
	uint64_t most = transport_loses(q->transport) ? 127 : 255;

	if (q->bandwidth || q->op->receives || q->op->fetches || q->s->qps <= most)
		return false;
	for (unsigned int i = 0; i < q->s->sizes.count; i++)
		if (q->s->sizes.v[i] % 2)
			return true;
	return false;
}

static bool verify_and_loss(const struct question *q)
{
	return q->s->verify && q->s->allow_loss && !q->bandwidth;
}

static bool interval_without_histogram(const struct question *q)
{
	return q->s->interval_ns && !q->bandwidth &&
	       (q->s->unsorted || q->s->sorted || q->s->detail || q->s->dump);
}

static bool interval_without_time(const struct question *q)
{
	return q->s->interval_ns && !q->s->duration_ns && !q->s->infinite;
}

static bool load_on_ud(const struct question *q)
{
	return (q->s->load.rate.bits || q->s->load.rate.messages) && q->transport == TRANSPORT_UD;
}

static bool mcast_not_on_ud(const struct question *q)
{
	return *q->s->mcast.address && q->transport != TRANSPORT_UD;
}

static bool mcast_on_many(const struct question *q)
{
	return *q->s->mcast.address && (q->s->qps > 1 || q->s->bidirectional || q->s->reversed);
}

static bool mcast_by_cm(const struct question *q)
{
	return *q->s->mcast.address && (q->s->rdma_cm || q->s->path_record);
}

static bool runs_and_load(const struct question *q)
{
	return (q->s->runs.most || q->s->confidence.level > 0) &&
	       (q->s->load.rate.bits || q->s->load.rate.messages || q->s->infinite);
}

static bool mcast_and_dump(const struct question *q)
{
	return *q->s->mcast.address && q->s->dump;
}

static bool stamps_without_detail(const struct question *q)
{
	return q->s->hw_timestamps && !q->s->detail;
}

static bool stamps_without_completions(const struct question *q)
{
	return q->s->hw_timestamps && !q->op->receives && !q->op->fetches;
}

static bool gap_and_detail(const struct question *q)
{
	return q->s->detail && (q->s->gap_ns || q->s->verify || q->s->load.rate.bits ||
				q->s->load.rate.messages);
}

/* Each refusal: what is lacking, and what to do. %o is the operation, %t the transport. */
static const struct {
	bool (*applies)(const struct question *q);
	const char *why;
} rules[] = {
	{ no_such_message, "%t has no %o; use --transport RC, or send_lat and send_bw on UD" },
	{ polls_memory, "--events sleeps on completions and %o is awaited in memory; add --imm" },
	{ spins_without_events, "--spin says how long to spin before a sleep; add --events" },
	{ srq_without_receives, "--srq is for messages that take a receive, and %o takes none" },
	{ cm_on_uc, "rdma_cm connects RC and UD only; leave out --rdma-cm with --transport UC" },
	{ cm_and_path_bits, "--path-bits: with --rdma-cm and --path-record the subnet names the LIDs; "
			    "leave it out" },
	{ record_and_sl, "--path-record takes the SL from the subnet; leave out --sl" },
	{ both_directions, "--bidirectional has the server send already; leave out --reversed" },
	{ loss_on_rc, "--allow-loss is for UC and UD; RC loses nothing without an error" },
	{ atomic_size, "an atomic is of 8 bytes; leave out --size and --all" },
	{ list_too_long, "--post-list is longer than --tx-depth" },
	{ signals_too_rare, "--cq-mod is more than half of --tx-depth: the send queue would fill" },
	{ recv_list_too_long, "--recv-post-list is longer than --rx-depth" },
	{ inline_fetch, "%o fetches its data and sends none; leave out --inline" },
	{ srq_too_shallow, "--srq with fewer receives (--rx-depth) than --qps" },
	{ relaxed_and_polled, "--relaxed-ordering on: %o is awaited in memory and needs the order; "
			      "add --imm" },
	{ gap_and_detail, "--detail looks at laps that follow each other; leave out --gap, "
			  "--load and --verify" },
	{ mcast_not_on_ud, "--mcast needs datagrams; add --transport UD" },
	{ mcast_on_many, "--mcast goes one way from one queue pair; leave out --qps, --bidirectional "
			 "and --reversed" },
	{ mcast_by_cm, "--mcast joins by rdma_cm where there is one; leave out --rdma-cm "
		       "and --path-record" },
	{ runs_and_load, "--runs and --confidence repeat a run that ends and is of one kind; leave out "
			 "--load and --run-infinitely" },
	{ stamps_without_detail, "--hw-timestamps is one more stamp of a lap; add --detail" },
	{ stamps_without_completions, "--hw-timestamps stamps completions, and %o is awaited in memory; "
				      "add --imm" },
	{ load_on_ud, "--load is a stream of RDMA WRITEs, which %t has none of; use --transport RC" },
	{ marks_come_again, "--qps: over so many queue pairs the mark of an odd size, a byte, comes "
			    "again too early; use even sizes, --imm, or at most 127 (RC: 255)" },
	{ verify_and_loss, "--verify follows every message; leave out --allow-loss" },
	{ interval_without_histogram, "--interval counts its samples and keeps none; leave out -U, "
				      "-H, --dump and --detail" },
	{ mcast_and_dump, "--dump holds one server's stamps; leave it out with --mcast" },
	{ interval_without_time, "--interval is for a run by time; add --duration or "
				 "--run-infinitely" },
};

static void explain(const char *text, const struct question *q, char *why, size_t cap)
{
	size_t len = 0;

	for (; *text && len + 1 < cap; text++) {
		const char *word = text[0] == '%' && text[1] == 'o' ? q->op->name :
				   text[0] == '%' && text[1] == 't' ? transport_name(q->transport) :
								      NULL;

		if (!word) {
			why[len++] = *text;
			continue;
		}
		len += (size_t)snprintf(why + len, cap - len, "%s", word);
		text++;
	}
	why[len < cap ? len : cap - 1] = '\0';
}

int op_check(enum op_family family, bool bandwidth, const struct settings *s, char *why, size_t cap)
{
	struct question q = {
		.op = op_get(op_choose(family, s)),
		.s = s,
		.bandwidth = bandwidth,
		.transport = (enum transport)s->transport,
	};

	*why = '\0';
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].applies(&q)) {
			explain(rules[i].why, &q, why, cap);
			return -EINVAL;
		}
	return 0;
}
