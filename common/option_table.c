/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "option_table.h"

#define AT(field) offsetof(struct settings, field)
#define MS 1000000ull
#define DAY (86400ull * 1000 * MS)

static const char *const clock_names[] = { "tsc", "gettime", NULL };
static const char *const post_names[] = { "send", "wr", NULL };
static const char *const reap_names[] = { "now", "late", NULL };

/* clang-format off */
const struct option_record option_table[] = {
	/* What is measured */
	{ "size", "s", OPTION_SIZES, SCOPE_PLAN, FOR_PAIR, "What is measured", "BYTES,...",
	  1, 1ull << 31, "8", NULL,
	  "message size, or a list of sizes (1,64,4k), each measured as an independent run",
	  AT(sizes) },
	{ "all", "a", OPTION_ALL_SIZES, SCOPE_PLAN, FOR_PAIR, "What is measured", NULL,
	  0, 0, "", NULL, "all sizes from 2^0 to 2^23 bytes", AT(sizes) },
	{ "iters", "n", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "What is measured", "N",
	  1, 1ull << 40, "1000", NULL, "laps of each size", AT(iters) },
	{ "duration", "D", OPTION_TIME, SCOPE_PLAN, FOR_PAIR, "What is measured", "T",
	  MS, 30 * DAY, "", NULL,
	  "measure for this time instead of a number of laps (10s, 500ms, 2m)", AT(duration_ns) },
	{ "warmup", "", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "What is measured", "N",
	  0, 10000000, "100", NULL,
	  "laps before the measured ones, at most 200 ms of them; 0: none, sample 1 is then the "
	  "first exchange", AT(warmup) },
	{ "full-rtt", "", OPTION_FLAG, SCOPE_PLAN, FOR_LAT, "What is measured", NULL,
	  0, 0, "", NULL, "report full round trips instead of half of them", AT(full_rtt) },
	{ "detail", "", OPTION_FLAG, SCOPE_PLAN, FOR_LAT, "What is measured", NULL,
	  0, 0, "", NULL,
	  "two stamps a lap (post, seen) and the longest gap between two polls of the lap",
	  AT(detail) },

	/* How it is sent */
	{ "tx-depth", "t", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "How it is sent", "N",
	  1, 32768, "16", NULL, "depth of the send queue", AT(tx_depth) },
	{ "qps", "q", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "How it is sent", "N",
	  1, 1, "1", NULL, "number of queue pairs", AT(qps) },
	{ "inline", "I", OPTION_SIZE, SCOPE_PLAN, FOR_PAIR, "How it is sent", "BYTES",
	  0, 1 << 20, NULL, NULL,
	  "largest message sent inline; by default the largest size of the run up to 256, or what "
	  "the device grants", AT(inline_size) },
	{ "post", "", OPTION_NAME, SCOPE_LOCAL, FOR_PAIR, "How it is sent", "HOW",
	  0, 0, NULL, post_names,
	  "post by ibv_post_send (send) or by the ibv_wr_* calls (wr); by default wr where the "
	  "device has them", AT(post) },
	{ "reap", "", OPTION_NAME, SCOPE_PLAN, FOR_LAT, "How it is sent", "WHEN",
	  0, 0, "now", reap_names,
	  "take the send completion before waiting for the answer (now), or only when the send "
	  "queue is full (late)", AT(reap) },
	{ "hugepages", "", OPTION_FLAG, SCOPE_LOCAL, FOR_PAIR, "How it is sent", NULL,
	  0, 0, "", NULL, "buffers in huge pages", AT(hugepages) },

	/* Device and path */
	{ "ib-dev", "d", OPTION_TEXT, SCOPE_LOCAL, FOR_PAIR, "Device and path", "DEV",
	  0, 0, NULL, NULL, "RDMA device; by default both ends look for a pair that can talk",
	  AT(ib_dev) },
	{ "ib-port", "i", OPTION_NUMBER, SCOPE_LOCAL, FOR_PAIR, "Device and path", "N",
	  1, 255, NULL, NULL, "port of the device; by default an active one", AT(ib_port) },
	{ "gid-index", "x", OPTION_NUMBER, SCOPE_LOCAL, FOR_PAIR, "Device and path", "N",
	  0, 255, NULL, NULL,
	  "GID to use, by index; asks for a GRH on InfiniBand. By default the best pair of GIDs",
	  AT(gid_index) },
	{ "mtu", "m", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "BYTES",
	  256, 4096, NULL, NULL,
	  "path MTU: 256, 512, 1024, 2048 or 4096; by default the smaller of both ports",
	  AT(mtu) },
	{ "sl", "S", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "N",
	  0, 15, "0", NULL, "service level", AT(sl) },
	{ "traffic-class", "", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "N",
	  0, 255, "0", NULL, "traffic class of the GRH (RoCE: DSCP times 4)", AT(traffic_class) },
	{ "flow-label", "", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "F",
	  0, 0xfffff, "0", NULL, "flow label of the GRH", AT(flow_label) },
	{ "hop-limit", "", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "N",
	  1, 255, "64", NULL, "hop limit of the GRH", AT(hop_limit) },
	{ "path-bits", "", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "N",
	  0, 127, "0", NULL, "low bits of the LIDs where the ports have an LMC", AT(path_bits) },
	{ "pkey", "", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "VALUE",
	  1, 0xffff, NULL, NULL,
	  "P_Key by value (0x8001), looked up in the table of each end; by default the first pair "
	  "that matches", AT(pkey) },
	{ "qp-timeout", "u", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "N",
	  0, 31, "14", NULL, "local ACK timeout, 4.096 us times 2^N; 0 waits for ever",
	  AT(qp_timeout) },
	{ "retry-count", "", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "N",
	  0, 7, "7", NULL, "retries of the transport", AT(retry_count) },
	{ "rnr-retry", "", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "N",
	  0, 7, "7", NULL, "retries after receiver not ready; 7 is without end (the run still ends)",
	  AT(rnr_retry) },
	{ "min-rnr-timer", "", OPTION_NUMBER, SCOPE_PLAN, FOR_PAIR, "Device and path", "N",
	  0, 31, "12", NULL, "code of the minimum RNR NAK timer (12: 0.64 ms)", AT(min_rnr_timer) },

	/* CPU and clock */
	{ "cpu", "T", OPTION_TEXT, SCOPE_PAIR, FOR_PAIR, "CPU and clock", "L,R",
	  0, 0, "auto,auto", NULL,
	  "CPUs of client and server: a number, a range (2-5), a list (0+2), nodeN, auto or none; "
	  "one value stands for both", AT(cpu) },
	{ "clock", "", OPTION_NAME, SCOPE_LOCAL, FOR_PAIR | FOR_CLOCK, "CPU and clock", "NAME",
	  0, 0, "tsc", clock_names, "the CPU's counter (tsc) or clock_gettime (gettime)",
	  AT(clock) },

	/* Output */
	{ "cycles", "cC", OPTION_FLAG, SCOPE_LOCAL, FOR_LAT, "Output", NULL,
	  0, 0, "", NULL, "report CPU cycles instead of usec", AT(cycles) },
	{ "unsorted", "U", OPTION_FLAG, SCOPE_LOCAL, FOR_LAT, "Output", NULL,
	  0, 0, "", NULL, "print every sample in order of measurement", AT(unsorted) },
	{ "sorted", "H", OPTION_FLAG, SCOPE_LOCAL, FOR_LAT, "Output", NULL,
	  0, 0, "", NULL, "print every sample, sorted", AT(sorted) },
	{ "json", "", OPTION_FILE, SCOPE_LOCAL, FOR_ALL, "Output", "FILE",
	  0, 0, "", NULL, "JSON document: all of stdout, or a file beside the table", AT(json) },
	{ "csv", "", OPTION_FILE, SCOPE_LOCAL, FOR_PAIR, "Output", "FILE",
	  0, 0, "", NULL, "table as CSV: all of stdout, or a file beside the table", AT(csv) },
	{ "verbose", "v", OPTION_FLAG, SCOPE_LOCAL, FOR_PAIR, "Output", NULL,
	  0, 0, "", NULL, "say what is being done: every effective setting, every stage",
	  AT(verbose) },

	/* Control connection */
	{ "port", "p", OPTION_NUMBER, SCOPE_LOCAL, FOR_PAIR, "Control connection", "N",
	  0, 65535, "18515", NULL, "TCP port; 0 on a server lets the kernel choose", AT(port) },
	{ "bind", "", OPTION_TEXT, SCOPE_LOCAL, FOR_PAIR, "Control connection", "ADDR",
	  0, 0, NULL, NULL, "address to listen on, or to connect from", AT(bind) },
	{ "ipv4", "4", OPTION_FLAG, SCOPE_LOCAL, FOR_PAIR, "Control connection", NULL,
	  0, 0, "", NULL, "IPv4 only", AT(ipv4) },
	{ "ipv6", "6", OPTION_FLAG, SCOPE_LOCAL, FOR_PAIR, "Control connection", NULL,
	  0, 0, "", NULL, "IPv6 only", AT(ipv6) },
	{ "keep", "", OPTION_FLAG, SCOPE_LOCAL, FOR_PAIR, "Control connection", NULL,
	  0, 0, "", NULL, "the server serves one client after the other until it is ended",
	  AT(keep) },
	{ "timeout", "", OPTION_TIME, SCOPE_LOCAL, FOR_PAIR, "Control connection", "T",
	  MS, 30 * DAY, "", NULL, "end the whole run after this time with exit code 6; none by default",
	  AT(timeout_ns) },
	{ "connect-timeout", "", OPTION_TIME, SCOPE_LOCAL, FOR_PAIR, "Control connection", "T",
	  MS, DAY, "10s", NULL, "how long a client waits for its server", AT(connect_timeout_ns) },

	/* The rest */
	{ "force", "F", OPTION_FLAG, SCOPE_LOCAL, FOR_PAIR, "The rest", NULL,
	  0, 0, "", NULL, "accepted from perftest's users, without effect", AT(force) },
	{ "version", "V", OPTION_FLAG, SCOPE_LOCAL, FOR_ALL, "The rest", NULL,
	  0, 0, "", NULL, "print the version", AT(version) },
	{ "help", "h", OPTION_FLAG, SCOPE_LOCAL, FOR_ALL, "The rest", NULL,
	  0, 0, "", NULL, "print this text", AT(help) },
	{ "man", "", OPTION_FLAG, SCOPE_LOCAL, FOR_ALL, "The rest", NULL,
	  0, 0, "", NULL, "print the manual page in roff", AT(man) },
	{ 0 },
};
/* clang-format on */
