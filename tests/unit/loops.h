/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loops that write known stamps instead of measuring. Lap i starts at stamp(i); all differences
 * differ, so that a shift by one is seen.
 */
#ifndef TESTS_LOOPS_H
#define TESTS_LOOPS_H

#include "lap_ops.h"
#include "laps.h"
#include "unit.h"

#define NEVER UINT64_MAX
#define CALLS_MAX 8
#define LOST_MAX 4

struct call {
	enum lap_record record;
	uint64_t first, last, deadline;
};

/* What the loops below do. */
static struct {
	uint64_t stop_at, stop_warmup_at; /* no lap starts from here on, as after a deadline */
	uint64_t fail_at;		  /* the wait of this lap ends the loop */
	uint64_t lost[LOST_MAX];	  /* so do those of these laps, which go on then */
	int lost_count;
	struct call calls[CALLS_MAX];
	int call_count;
	bool warming; /* stop_warmup_at holds for the first call */
} script;

static inline uint64_t stamp(uint64_t lap)
{
	return 1000000 + 100 * lap + lap * lap;
}

static inline uint64_t sample(uint64_t lap)
{
	return stamp(lap + 1) - stamp(lap);
}

static inline uint64_t begin(const struct lap_run *r, enum lap_record record)
{
	uint64_t stop = script.call_count == 0 && script.warming ? script.stop_warmup_at :
								    script.stop_at;

	assert_true(script.call_count < CALLS_MAX);
	script.calls[script.call_count++] = (struct call){ record, r->first, r->last, r->deadline };
	return stop;
}

/* The next loss of the script is in @lap. */
static inline bool loses(const struct lap_run *r, uint64_t lap)
{
	for (int i = 0; i < script.lost_count; i++)
		if (script.lost[i] == lap) {
			script.lost[i] = NEVER;
			r->wait->end = WAIT_LOST;
			return true;
		}
	return false;
}

static inline int client_loop(struct lap_run *r, enum lap_record record)
{
	uint64_t stop = begin(r, record), i;

	for (i = r->first; i < r->last; i++) {
		lap_stamp(r, record, i, stamp(i));
		if (i >= stop)
			break;
		lap_count(r, record, stamp(i));
		if (i == script.fail_at || loses(r, i))
			return -1;
		if (record == RECORD_PACED_HISTOGRAM)
			lap_add(r, 7 + i, stamp(i) + 7 + i);
		else if (lap_record_sees(record))
			r->seen[i] = stamp(i) + 7 + i;
		if (record == RECORD_DETAIL)
			r->gap[i] = 500 + i;
		r->laps = i + 1;
	}
	lap_count(r, record, stamp(i));
	lap_stamp(r, record, i, stamp(i));
	return 0;
}

static inline int server_loop(struct lap_run *r, enum lap_record record)
{
	uint64_t stop = begin(r, record);

	for (uint64_t i = r->first; i < r->last; i++) {
		if (i >= stop)
			return -1; /* the done frame came instead of a mark */
		if (loses(r, i))
			return -1;
		if (record == RECORD_DETAIL)
			r->seen[i] = stamp(i) - 9;
		lap_stamp(r, record, i, stamp(i));
		lap_count(r, record, stamp(i));
		if (record == RECORD_DETAIL)
			r->gap[i] = 500 + i;
		r->laps = i + 1;
	}
	return 0;
}

#define LOOP(side, rec)                                                                            \
	static int side##_##rec(struct lap_run *r)                                                 \
	{                                                                                          \
		return side##_loop(r, RECORD_##rec);                                               \
	}
LOOP(client, STAMPS) LOOP(client, HISTOGRAM) LOOP(client, DETAIL)
LOOP(client, PACED) LOOP(client, PACED_HISTOGRAM) LOOP(server, PACED) LOOP(server, PACED_HISTOGRAM)
LOOP(server, STAMPS) LOOP(server, HISTOGRAM) LOOP(server, DETAIL)

#define ROW(side, rec) [RECORD_##rec] = { [CLOCK_SRC_GETTIME] = side##_##rec }

static const struct lap_loops loops = {
	.by = {
		[LAP_CLIENT] = { ROW(client, STAMPS), ROW(client, HISTOGRAM), ROW(client, DETAIL),
				 ROW(client, PACED), ROW(client, PACED_HISTOGRAM) },
		[LAP_SERVER] = { ROW(server, STAMPS), ROW(server, HISTOGRAM), ROW(server, DETAIL),
				 ROW(server, PACED), ROW(server, PACED_HISTOGRAM) },
	},
};

#endif
