/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One session of the driver, shared by its parts; no one else includes this. */
#ifndef COMMON_BENCH_STATE_H
#define COMMON_BENCH_STATE_H

#include <string.h>

#include "bench.h"
#include "bench_cm.h"
#include "candidate.h"
#include "control.h"
#include "counters.h"
#include "cpu.h"
#include "device.h"
#include "endpoint_connect.h"
#include "listen.h"
#include "mcast.h"
#include "report.h"

#define STAGE_NS (10 * NS_PER_S)

struct bench {
	const struct bench_program *program;
	struct settings set;
	struct error *err;
	bool server;
	uint64_t deadline; /* of --timeout, ns */

	struct listener *listener;
	char *hosts;       /* the client's, taken apart */
	const char *host;  /* of the peer whose turn it is */
	struct control control;

	struct device_set devices;
	struct candidate_list remote_ports;
	struct candidate_pair pair;
	struct device_facts facts;

	struct cpu_wish cpu_wish;
	struct cpu_choice cpu;
	char boot_id[CPU_BOOT_ID], peer_boot_id[CPU_BOOT_ID];
	int peer_cpu; /* -1: not bound, or another host */
	bool yield;

	enum clock_source clock;
	struct clock_cert cert;
	struct clock_pair run_start;

	enum op_kind op;
	enum transport transport;
	struct endpoint_wish wish;
	struct endpoint endpoint;
	struct endpoint_address local, remote;
	struct endpoint_path path;
	struct bench_cm by_cm;
	struct lane *lanes; /* endpoint.qp_count of them */

	struct lap_store store;
	struct lap_result *results; /* idle and loaded, of each run of each size */
	unsigned int result_count;
	struct report_floor floor;
	struct report_runs summaries[SIZES_MAX];
	unsigned int summary_count, run; /* run: of its size, from 1 */
	uint64_t number;   /* of the next mark */
	uint64_t sent, received; /* messages to each receiver; those that the peer says it got */

	struct bench_peer *others; /* more receivers of --mcast; see bench_peers.h */
	struct control **other_controls;
	unsigned int other_count, turn; /* turn: 0 for the first peer */
	struct mcast mcast;
	struct bench_interval *interval; /* of the size that runs, or NULL */
	bool dump_peer;              /* the peer writes a dump, and wants our stamps */
	struct bench_dumped *dumped; /* stamps that were kept, or NULL */
	struct bench_stream *stream; /* of a bandwidth program, or NULL */
	bool interrupted;

	json_t *local_facts, *remote_facts;
	struct counters counters; /* before the run */
	json_t *local_counters, *remote_counters; /* differences, or NULL */
	struct report_setup setup;
	char time[32];
};

/* Deadline of the stage that begins now. */
uint64_t bench_stage(struct bench *b, const char *name);
void bench_passed(const char *name);

/* A dump is written, here or at the peer. */
static inline bool bench_keeps_stamps(const struct bench *b)
{
	return b->set.dump || b->dump_peer;
}

/* Samples are wanted one by one. */
static inline bool bench_dumps(const struct bench *b)
{
	return b->set.unsorted || b->set.sorted || bench_keeps_stamps(b);
}

static inline enum latency_kind bench_kind(const struct bench *b)
{
	return b->set.full_rtt ? LATENCY_FULL_RTT : b->program->latency_kind;
}

static inline bool bench_mcast(const struct bench *b)
{
	return *b->set.mcast.address;
}

/* --load: every size is measured idle and again with one more QP busy. */
static inline bool bench_loads(const struct bench *b)
{
	return b->set.load.rate.bits || b->set.load.rate.messages;
}

/* The arrays of results[] are copies, not the store's. */
static inline bool bench_keeps_copies(const struct bench *b)
{
	return (b->set.unsorted || b->set.sorted) && (b->set.sizes.count > 1 || b->set.runs.most > 1 || bench_loads(b));
}

static inline unsigned int bench_qps(const struct bench *b)
{
	return (unsigned int)b->set.qps + bench_loads(b);
}

/* JSON or CSV is all of stdout. */
static inline bool bench_stdout_taken(const struct bench *b)
{
	const char *json = b->set.json, *csv = b->set.csv;

	return (json && !strcmp(json, "-")) || (csv && !strcmp(csv, "-"));
}

/* Something is done between laps: a sample is from post to seen. */
static inline bool bench_paced(const struct bench *b)
{
	return b->set.gap_ns || b->set.verify || bench_loads(b);
}

/* bench_setup.c: this end's own things */
int bench_open_devices(struct bench *b);
int bench_use_pair(struct bench *b);
/* What the pair's device and port allow of the plan: 0, or -1 with EXIT_MISUSE. */
int bench_check_device(struct bench *b, struct error *err);
int bench_choose_cpu(struct bench *b);
int bench_allocate(struct bench *b);
int bench_open_endpoint(struct bench *b);
int bench_connect_qps(struct bench *b);
struct ibv_context *bench_context(const struct bench *b);
/* The smallest of both ports and of --mtu. */
uint16_t bench_path_mtu(const struct bench *b);
const struct candidate *bench_port(const struct bench *b);
const struct candidate *bench_remote_port(const struct bench *b);
const struct candidate_choice *bench_choice(const struct bench *b);
const struct candidate_choice *bench_remote_choice(const struct bench *b);

/* bench_agree.c: hello, plan, endpoints */
int bench_client_agree(struct bench *b);
int bench_server_agree(struct bench *b);
int bench_exchange_endpoints(struct bench *b, void *arg);

/* bench_mcast.c: joins the group, if there is one; then what only QPs can do */
int bench_join(struct bench *b);
int bench_attach(struct bench *b);

/* bench_lanes.c: the QPs with what is sent and received on them */
int bench_open_lanes(struct bench *b);
void bench_fill_lanes(struct bench *b, uint64_t size);

/* bench_floor.c: after the run */
int bench_floor(struct bench *b);

/* bench_report.c */
void bench_report(struct bench *b, const struct endpoint *shown);

/* bench_run.c: barrier, laps, results of one size after the other */
int bench_run_all(struct bench *b);
/* One run of a size; idle and loaded with --load. */
int bench_run_once(struct bench *b, uint64_t size);

/* bench_repeat.c: as many runs of a size as --runs and --confidence ask for */
int bench_run_size(struct bench *b, uint64_t size);

/* bench_counters.c: before the first size; after the last, then to and from the peer */
void bench_counters_before(struct bench *b);
void bench_counters_after(struct bench *b, bool with_peer);

/* bench_interval.c: the hook of --interval, or NULL */
const struct lap_interval *bench_interval_open(struct bench *b);
void bench_interval_close(struct bench *b);

/* bench_dump.c: copies of a run's stamps, before they become samples; the file */
int bench_dump_keep(struct bench *b, const struct lap_run *r, uint64_t size, uint64_t laps,
		    uint64_t warmup);
int bench_dump_exchange(struct bench *b, uint64_t size);
void bench_dump_write(struct bench *b);
void bench_dump_close(struct bench *b);

/* bench_laps.c: one size of a latency program */
int bench_lap_size(struct bench *b, uint64_t size, bool loaded);
/* bench_stream.c: the same of a bandwidth program; its results */
int bench_stream_size(struct bench *b, uint64_t size);
/* Of the last run: bytes a second of all directions together; NAN: unknown. */
double bench_stream_rate(const struct bench *b);
const struct bw_result *bench_stream_rows(const struct bench *b, unsigned int *count);
void bench_stream_close(struct bench *b);
/* bench_run.c, for both: */
void bench_fill_wait(struct bench *b, struct wait *w);
int bench_barrier(struct bench *b);
/* The same with every receiver. */
int bench_barrier_all(struct bench *b);
void bench_note_end(struct bench *b, struct wait *w);
void bench_prefer_news_of_peer(struct bench *b, struct wait *w);
/* Tells the peer that the user ended the run here. */
void bench_send_interrupt(struct bench *b);

#endif
