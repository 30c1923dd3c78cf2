/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What all bandwidth programs share: sections of their manual pages, their defaults. */
#ifndef COMMON_REPORT_BW_KEYS_H
#define COMMON_REPORT_BW_KEYS_H

#include "options.h"

/* The table's are a ping-pong's. @size as text. */
#define BENCH_BANDWIDTH_DEFAULTS(size)                                                              \
	{ { "size", size }, { "duration", "1s" }, { "tx-depth", "128" }, { NULL, NULL } }

#define BENCH_BANDWIDTH_SECTIONS                                                                    \
	"WHAT EACH NUMBER MEANS", BENCH_BW_TEXT_NUMBERS, "EXIT STATUS", BENCH_BW_TEXT_EXIT,         \
		"JSON KEYS", BENCH_BW_TEXT_JSON

#define BENCH_BW_TEXT_NUMBERS                                                                       \
	"Bandwidth is the bytes of the messages that were measured, divided by the time from the "   \
	"first post to the last message that is confirmed. A SEND and a WRITE with immediate are "   \
	"confirmed by the receiver, a WRITE over RC by a READ of its last byte behind the WRITEs of " \
	"each queue pair, a READ and an atomic by their data. What a WRITE over UC without --imm "   \
	"delivered nobody knows: confirmed is then none, and all that was sent is counted. Headers " \
	"are not counted. Gb is 10^9 bit, MB 10^6 bytes, MiB 2^20 bytes.\n"                         \
	"\n"                                                                                        \
	"best and worst are the whole 100 ms windows of the run with the most and the fewest "       \
	"bytes; between two completions progress counts as even. peak is the highest rate over 16 "  \
	"completions (or credits) in a row. A run too short for them shows -.\n"                    \
	"\n"                                                                                        \
	"-n is the number of messages over all queue pairs. In a run by time every message that was " \
	"posted is awaited and counted, and the time goes on until the last is confirmed, so rate "  \
	"times seconds is the count.\n"                                                             \
	"\n"                                                                                        \
	"SENDs and WRITEs with immediate are under credits: no more of them are under way than "     \
	"receives are posted, so a receiver that is not ready is never what is measured. The "       \
	"credits are SENDs of no bytes in the other direction.\n"                                   \
	"\n"                                                                                        \
	"With -b both ends send at once; each direction is reported by the clock of its sender, and " \
	"both together are the bytes of both in the longer of the two times. READs and atomics bring " \
	"their data to the end that posts them: the direction is that of the data.\n"               \
	"\n"                                                                                        \
	"Messages lost on UC and UD are counted where they should have arrived; only those that did " \
	"arrive make the bandwidth."

#define BENCH_BW_TEXT_EXIT                                                                          \
	"0: done. 1: a local call failed. 2: misuse, or a plan that was refused (on both ends). 3: "  \
	"an expectation was not met. 4: the peer was lost or aborted, or a run by messages was "     \
	"interrupted. 5: data was lost (without --allow-loss) or corrupt. 6: a deadline ran out here."

#define BENCH_BW_TEXT_JSON                                                                          \
	"Keys carry their unit. What was not measured is null.\n"                                   \
	" program, version, protocol, role, time, local, remote, settings, path, setup, counters,\n" \
	"   runs, receivers, warnings, error: as for the latency programs\n"                        \
	" results, one for each size, with -b three: size, direction (client_to_server,\n"          \
	"   server_to_client, both), iterations (messages sent), bytes, seconds, avg_gbit_s,\n"     \
	"   avg_mib_s, avg_mb_s, peak_gbit_s, window_s, min_window_gbit_s, max_window_gbit_s,\n"    \
	"   msg_rate_per_s, confirmed (receiver, read, none), sent, received, lost,\n"              \
	"   run (of its size, from 1)"

#endif
