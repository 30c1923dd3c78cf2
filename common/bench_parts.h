/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of the driver call of each other, for bench_state.h. 0, or -1 with b->err, unless said. */
#ifndef COMMON_BENCH_PARTS_H
#define COMMON_BENCH_PARTS_H

/* Deadline of the stage that begins now. */
uint64_t bench_stage(struct bench *b, const char *name);
void bench_passed(const char *name);

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

/* bench_report.c; before anything else: is each --expect readable, and of a figure that there is? */
int bench_check_expect(const struct bench_program *p, const struct settings *s, struct error *err);
void bench_report(struct bench *b, const struct endpoint *shown);

/* bench_run.c: barrier, laps, results of one size after the other */
int bench_run_all(struct bench *b);
/* One run of a size; idle and loaded with --load. */
int bench_run_once(struct bench *b, uint64_t size);

/* bench_repeat.c: as many runs of a size as --runs and --confidence ask for */
int bench_run_size(struct bench *b, uint64_t size);
/* Of sizes whose runs did not agree as asked: on the client, one line each. */
void bench_warn_of_runs(struct bench *b);

/* bench_counters.c: before the first size; after the last, then to and from the peer */
void bench_counters_before(struct bench *b);
void bench_counters_after(struct bench *b, bool with_peer);

/* bench_interval.c: the hook of --interval, or NULL without one; -1: no memory */
int bench_interval_open(struct bench *b, const struct lap_result *run,
			const struct lap_interval **hook);
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
