/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stream of a bandwidth program: an end sends, receives or both, over all lanes in turn. What
 * both ends must agree on follows from the settings alone (stream_plan).
 *
 * SENDs and WRITEs with immediate are under credits, so that no message ever meets an empty receive
 * queue: the receiver tells the number of messages of the lane that it took and whose receives it
 * has posted again, as a SEND of no bytes whose immediate data has bit 31 set.
 */
#ifndef COMMON_STREAM_H
#define COMMON_STREAM_H

#include "cycles.h"
#include "lane.h"
#include "op.h"
#include "wait.h"

#define STREAM_SPARE_WRS 2 /* of a send queue, for credits and the READ behind the WRITEs */

struct stream;

struct stream_plan {
	const struct op *op;
	bool ud, lossy, verify, srq, both_ways;
	unsigned int qps;
	unsigned int depth;       /* messages in a send queue */
	unsigned int list, recv_list, cq_mod;
	bool signal_lists;        /* the last of each list, since the next would not find room */
	unsigned int window;      /* messages of a lane without credit; 0: no credits */
	unsigned int receives;    /* that are posted on a lane, or on the SRQ */
	unsigned int credit_each; /* messages of a lane that make a credit */
	uint64_t largest;         /* size of the run */
	uint64_t buffer;          /* bytes, or OPTION_AUTO */
};

void stream_plan(struct stream_plan *p, const struct settings *s, const struct op *op);
/* Slots of a lane's area that messages of a size walk through, and from one to the next, bytes. */
uint64_t stream_slots(const struct stream_plan *p, uint64_t size);
uint64_t stream_stride(uint64_t size);

/* For the endpoint: bytes of a QP's areas, depths of its queues, ibv_wr_* calls, access. */
void stream_areas(const struct settings *s, const struct op *op, size_t *send, size_t *recv);
void stream_wish(struct endpoint_wish *w, const struct settings *s, const struct op *op);
/* Bytes of memory that one end needs. */
uint64_t stream_memory(const struct settings *s, const struct op *op);

/* What a stream works on, borrowed. */
struct stream_setup {
	const struct settings *settings;
	enum op_kind op;
	enum transport transport;
	const struct endpoint *endpoint;
	const struct endpoint_address *remote;
	struct lane *lanes;
	bool sends, receives;  /* this end; receives: data is told to it by completions */
	bool group;            /* to several receivers, of which none gives credits */
	bool confirm_by_read;  /* this end reads behind its WRITEs */
	uint64_t seed;         /* of the pattern; the same on both ends */
	enum clock_source clock;
	double hz;
	struct wait *wait;     /* with raw_done */
	FILE *lines;           /* --interval: where a line goes */
};

/* Once, after the QPs are connected: posts the receives. */
int stream_open(struct stream **s, const struct stream_setup *setup, struct error *err);
void stream_close(struct stream *s);

/* Before the barrier of a size; the lanes are filled for it. */
int stream_begin(struct stream *s, uint64_t size);

struct stream_goal {
	uint64_t messages;  /* over all lanes; UINT64_MAX: by time alone */
	uint64_t ticks;     /* counter units after which no more are posted; UINT64_MAX: never */
	double rate_cost;   /* counter units a message; 0: as fast as it goes */
	bool warmup;        /* not reported */
	uint64_t interval;  /* counter units from one line of figures to the next; 0: none */
};

/* How a phase went, by this end's clock; rates are messages a counter unit, NAN: not known. */
struct stream_figures {
	uint64_t sent, arrived; /* arrived: as far as credits or completions say */
	uint64_t ticks;         /* from the first post to the last message that is confirmed */
	double best, worst, peak;
	uint64_t presumed_lost;
};

/* Sends, and returns when all has been confirmed: 0, or -1 with the reason in the wait. */
int stream_send(struct stream *s, const struct stream_goal *goal, struct stream_figures *f);

/* The done frame of this end; and what the peer's says. Sent once stream_send() is through. */
json_t *stream_done_message(struct stream *s);
/* Serves until the peer's done frame and all that it tells of came, or nothing more comes. */
int stream_receive(struct stream *s);
/* Measured messages of the peer that came, once stream_receive() is through. */
uint64_t stream_received(const struct stream *s);
/* The run was ended by a signal here or by the peer's user. */
bool stream_interrupted(const struct stream *s);

#endif
