/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State of a stream, for stream_parts.h. */
#ifndef COMMON_STREAM_STATE_H
#define COMMON_STREAM_STATE_H

#include "rate.h"
#include "stream.h"
#include "verify.h"
#include "windows.h"

/*
 * wr_id of a send: lane (16 bits), messages that its completion covers (32), kind. Of a receive:
 * lane whose memory it is (16), offset of its slot there in units of SLOT_ALIGN (40).
 */
#define ID_LANE_BITS 16
#define ID_LANE(id) ((unsigned int)((id) & 0xffff))
#define ID_COUNT(id) ((uint32_t)((id) >> ID_LANE_BITS))
#define ID_CREDIT (1ull << 62)
#define ID_CONFIRM (1ull << 63)
#define SLOT_ALIGN 64
#define ID_OFFSET(id) (((id) >> ID_LANE_BITS) * SLOT_ALIGN)

#define STREAM_BUSY_PASSES 1024 /* between two looks */

#define CREDIT_BIT 0x80000000u
#define COUNT_MASK 0x7fffffffu

/* Counts of messages run on from size to size. */
struct stream_lane {
	struct stream_lane *next_ready;
	struct lane *lane;
	uint64_t sent, quota, limit; /* limit: of sent, by quota, queue and credits */
	uint64_t completed, credited;
	uint64_t written_off;        /* lost, as far as is known */
	uint64_t probe_sent;         /* sent when the peer was asked for its count */
	uint32_t unsignaled;         /* messages since the last signaled one */
	uint64_t at;                 /* offset of the next message's slot */
	bool ready;                  /* queued to post */
	uint64_t target;             /* address of the remote slots */
	uint64_t checked;            /* READ, ATOMIC: messages whose data was looked at */
	uint64_t phase_sent;         /* sent when the phase began */
	/* receiving */
	uint64_t received, announced;
	uint64_t next_sequence;      /* expected by --verify */
	uint32_t consumed;           /* receives to be posted again */
	uint32_t credits_out;        /* credits that are not completed */
	uint64_t recv_slot;          /* of the next receive to be posted */
};

/* Posts up to about @budget messages of the lanes that are ready: how many, or -1. */
typedef int (*stream_burst)(struct stream *s, unsigned int budget);

struct stream {
	struct stream_plan plan;
	struct stream_setup set;
	struct stream_lane *lanes;
	struct stream_lane *head, *tail; /* ready to post */
	struct wait *w;
	enum clock_source clock;
	struct ibv_send_wr *wrs;   /* of a list */
	struct ibv_sge *sges;
	struct ibv_recv_wr *recv_wrs;
	struct ibv_sge *recv_sges;
	uint64_t *pending;         /* SRQ: wr_id of the receives to be posted again */
	unsigned int pending_count;
	struct stream_qpn { uint32_t qpn, lane; } *qpns; /* SRQ: by QPN, ascending */

	/* of a size */
	uint64_t size, stride, slots;             /* of what is sent, and of a WRITE's target */
	uint64_t walk;                            /* bytes of all slots */
	uint64_t recv_stride, recv_slots;         /* of receives */
	stream_burst burst;
	unsigned int burst_size;
	bool credits;                             /* this end's messages are under credits */
	uint64_t received_before, warmup_sent, warmup_arrived;

	/* of a phase */
	uint64_t sent, completed, credited, written_off; /* sums over the lanes */
	uint64_t quota, phase_sent, phase_progress, phase_written_off;
	uint64_t seen;                            /* progress of the phase at the last stamp */
	uint64_t first_post, last_progress, deadline; /* counter */
	uint64_t gap_from, longest_gap;           /* counter: between two signs of progress */
	uint64_t probed_at;                       /* counter: when the peer's counts came */
	bool probing;                             /* they are due */
	uint64_t next_line, line_every, line_from, line_seen;
	unsigned int line_count;
	bool closed;
	unsigned int confirms;                    /* READs behind the WRITEs that are out */
	struct rate rate;
	struct windows windows;

	/* receiving */
	uint64_t received, announced;
	unsigned int recv_empty;                  /* polls in a row without data */
	bool peer_done, own_done, drained;
	bool probed;                              /* the peer asks for our counts */
	uint64_t peer_warmup, peer_sent, peer_warmup_arrived;
	json_t *peer_lanes;
	bool interrupted, told;

	/* idle */
	unsigned int idle_passes, busy_passes;    /* until the next look */
	bool came;                                /* something, since the last look */
	bool armed;                               /* the CQs will send an event */
	uint64_t fruit, next_look, next_alive;    /* ns */
};

#endif
