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

#include "bench_asks.h"
#include "bench_parts.h"

#endif
