/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receivers of --mcast beyond the first, which is in struct bench itself like the only peer of
 * any other run. For the length of a step one of them takes the first one's place.
 */
#ifndef COMMON_BENCH_PEERS_H
#define COMMON_BENCH_PEERS_H

#include "bench_state.h"

/* What struct bench knows of a peer. */
struct bench_peer {
	const char *host;
	struct control control;
	struct candidate_list remote_ports;
	struct candidate_choice choice;
	struct endpoint_address remote;
	json_t *remote_facts;
	char boot_id[CPU_BOOT_ID];
	int cpu;
	uint64_t received; /* messages that it says it got */
};

/* Takes the hosts apart; 0 or -1. */
int bench_peers_open(struct bench *b);
void bench_peers_close(struct bench *b);

/* What each receiver got, for the report: bench.other_count + 1 of them, or none; to be freed. */
struct report_receiver *bench_receivers(const struct bench *b, unsigned int *count);

/* Does a step with every peer, the first one first; ends at the first that fails. */
int bench_each_peer(struct bench *b, int (*step)(struct bench *b, void *arg), void *arg);

#endif
