/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sections of the manual pages that all latency programs share. */
#ifndef COMMON_REPORT_KEYS_H
#define COMMON_REPORT_KEYS_H

#define BENCH_LATENCY_SECTIONS                                                                      \
	"WHAT EACH NUMBER MEANS", BENCH_TEXT_NUMBERS, "EXIT STATUS", BENCH_TEXT_EXIT, "JSON KEYS",  \
		BENCH_TEXT_JSON

#define BENCH_TEXT_NUMBERS                                                                          \
	"A lap is one exchange. The client stamps the counter just before each post, and once more "  \
	"after the last answer was seen: N laps give N samples, the last of which ends at \"seen\". " \
	"The server stamps just before each of its answers: N stamps, N-1 samples.\n"               \
	"\n"                                                                                        \
	"A sample of a ping-pong is half of the time from one stamp to the next (half round trip), "  \
	"unless --full-rtt is given. Half a round trip assumes that both ways take the same time.\n" \
	"\n"                                                                                        \
	"Sample k of the client runs from its post k to its post k+1; sample k of the server from "   \
	"its answer k to its answer k+1. A stall seen in client k and server k lies on the way back " \
	"or in the client; one seen in client k+1 and server k lies on the way out or in the "        \
	"server.\n"                                                                                 \
	"\n"                                                                                        \
	"Percentiles are nearest rank, the median is the middle sample or the mean of the two middle " \
	"ones, the deviation is that of the sample (n-1), max is the largest sample; nothing is "     \
	"trimmed. A percentile that the number of samples cannot support is shown as - (null in "     \
	"JSON): p99.9 needs 1000. The interval of the median is the distribution-free one from "      \
	"order statistics at 95 %. A run by time without -U, -H and --detail counts its samples in "  \
	"a histogram, whose percentiles are off by at most 0.4 %; min, max, mean are exact.\n"       \
	"\n"                                                                                        \
	"Warm-up laps are done before the measured ones, cut by position and not reported. The "      \
	"first exchange of the run has a line of its own.\n"                                        \
	"\n"                                                                                        \
	"With --detail each lap has two stamps, post and seen, and -U prints three columns: the "     \
	"sample, the time from post to seen (not halved), and the longest time between two polls of " \
	"the lap, which shows a process that lost its CPU."

#define BENCH_TEXT_EXIT                                                                             \
	"0: done. 1: a local call failed. 2: misuse, or a plan that was refused (on both ends). 3: "  \
	"an expectation was not met. 4: the peer was lost or aborted, or the run was interrupted. "   \
	"5: data was lost or corrupt. 6: a deadline ran out here."

#define BENCH_TEXT_JSON                                                                             \
	"Keys carry their unit. What was not measured is null.\n"                                   \
	" program, version, protocol, role, time (RFC 3339, UTC)\n"                                 \
	" local, remote: host, kernel, device, firmware, software (null, softverbs, rxe, siw), port,\n"     \
	"   device_clock_khz (of --hw-timestamps; null: the device has none),\n"                     \
	"   link_layer, mtu, lid, gid, gid_index, gid_type, cpu, numa_node,\n"                      \
	"   clock: source, hz, ppm (of hz: the rate over the run against the one before),\n"        \
	"   hz_before, hz_after (calibrations before and after the run), between_ppm (how far\n"    \
	"   they are apart; null where no run came to its end), invariant, trusted, why,\n"         \
	"   independent, read_ns (cost of a stamp), resolution_ns\n"                                \
	" settings: every option by its long name, _ for -; times in seconds\n"                     \
	" path: mtu, grh, inline_asked, inline_granted, post\n"                                     \
	" setup: device_usec, memory_usec, qps_usec, exchange_usec, connect_usec\n"                 \
	" counters: local, remote: how far each counter of the port and of the device (counters,\n"  \
	"   hw_counters in sysfs, under the driver's names) moved in the run, by all traffic of the\n" \
	"   device; null for one that went back, and for an end that has none or did not tell\n"    \
	" warnings: texts\n"                                                                        \
	" results, one for each size: size, iterations (laps), samples, warmup (laps before them),\n" \
	"   latency_kind (half_rtt, full_rtt), write_in_order (true: the device promises that\n"    \
	"   a WRITE's bytes arrive in order; false: it does not; null: unknown),\n"                 \
	"   first_exchange_usec, min_usec, median_usec, median_ci95_usec (two values),\n"           \
	"   mean_usec, stdev_usec, p90_usec, p99_usec, p99_9_usec, p99_99_usec, max_usec,\n"        \
	"   max_at (number of the largest sample), and the same keys ending in _cycles,\n"          \
	"   interval_inflation (1: laps are independent; more: the interval is as wide as that\n"     \
	"   many times fewer laps would make it; null: not looked at, as with a histogram),\n"      \
	"   worst (null, or the 100 largest samples of a run by time, largest first: usec, sample\n" \
	"   (its number), seconds (since the first measured lap; null on the server)),\n"         \
	"   run (of its size, from 1),\n"                                                          \
	"   modes (null, or the two clusters of a bimodal run: median_usec, median_cycles, share),\n" \
	"   lost (laps whose answer never came, on UC and UD), late (whose answer came when the\n" \
	"   lap had been given up; no samples, and not lost), loaded (under --load), load_gbit_s\n" \
	"   (as carried beside the ping-pong)\n"                                                   \
	" floor, with --floor: stamp_ns, poll_ns (a poll that finds nothing), post_ns (of the first\n" \
	"   size, on a queue pair connected to itself; on a software device that is the transfer),\n" \
	"   share (of the three together of the first size's median)\n"                             \
	" runs, with --runs or --confidence, one for each size: size, runs, median_usec (mean of the\n" \
	"   runs' medians; avg_gbit_s of bandwidth), level_percent, wanted_half_percent,\n"        \
	"   half_percent (of the interval, by Student's t), within_half_percent (the widest\n"      \
	"   half interval of the median inside a run), reached\n"                                   \
	" receivers, with --mcast on the sender: host, sent, received, lost; messages, of latency\n"   \
	"   with those of the warm-up\n"                                                              \
	" error: null, or stage, errno, text"

#endif
