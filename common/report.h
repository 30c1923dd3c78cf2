/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a run gave, as text, CSV and JSON. Takes finished numbers and only prints. */
#ifndef COMMON_REPORT_H
#define COMMON_REPORT_H

#include "confidence.h"
#include "cycles.h"
#include "endpoint.h"
#include "laps.h"
#include "op.h"
#include "options.h"
#include "report_bw.h"
#include "units.h"

struct report_setup {
	double device_usec, memory_usec, qps_usec, exchange_usec, connect_usec; /* NAN: not done */
};

/* One receiver of --mcast. */
struct report_receiver {
	const char *host;
	uint64_t received; /* messages, with those of warm-ups */
};

/* --floor, counter units; NAN where it could not be measured. */
struct report_floor {
	bool known;
	double stamp, poll, post;
};

/* The runs of one size, with --runs or --confidence. */
struct report_runs {
	uint64_t size;
	struct confidence of;  /* counter units of the medians, or bytes/s */
	double within_percent; /* the widest half interval inside a run; NAN: unknown */
	bool reached;
};

struct report {
	const struct option_program *program;
	const struct settings *settings;
	const struct error *err;
	const char *operation;
	bool server, paced; /* paced: a sample is from post to seen */
	enum latency_kind kind;
	json_t *local, *remote;         /* facts of both ends; NULL where unknown */
	const struct clock_cert *clock; /* hz 0: not calibrated */
	const struct endpoint *endpoint;
	uint16_t mtu;
	bool grh;
	struct report_setup setup;
	const struct report_receiver *receivers; /* of --mcast, on the sender */
	unsigned int receiver_count;
	uint64_t sent;                           /* to each of them */
	json_t *local_counters, *remote_counters; /* see counters.h; NULL: none */
	char time[32];
	struct report_floor floor;
	const struct report_runs *runs;
	unsigned int runs_count;
	const struct lap_result *results;
	unsigned int result_count;
	enum op_kind op;
	bool bandwidth;                 /* then results is empty, and these are: */
	const struct bw_result *bw;
	unsigned int bw_count;
};

/* Two lines, at once when both addresses are known. */
void report_addresses(FILE *out, const struct endpoint_address *local,
		      const struct endpoint_address *remote);
/* Dumps, an empty line, settings, table. */
void report_text(FILE *out, const struct report *r);
/* report_counters.c: what the devices counted, as lines of the text; nothing when all is well. */
void report_counters(FILE *out, const struct report *r);
/* What stands below the table: first exchange, intervals, modes, load, floor, runs, receivers. */
void report_notes(FILE *out, const struct report *r);
/* --floor: stamp, poll and post as a share of the median of the first result; NAN: unknown. */
double report_floor_share(const struct report *r);
void report_csv(FILE *out, const struct report *r);
json_t *report_json(const struct report *r);
/* The results of the document alone. */
json_t *report_results(const struct report *r);
/* One result as it is where nothing was measured: all its keys. */
json_t *report_no_result(const struct report *r);

/* "2026-01-31T12:00:00Z" */
void report_time(char out[32]);

/* Figures of one result in usec, or in cycles. NAN where not known. */
void report_view(const struct report *r, const struct lap_result *res, bool cycles,
		 struct stats_view *v, double *first_exchange);

#endif
