/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gen_dump pair FILE         both ends with --detail: start-up, 10 hiccups of each kind
 * gen_dump flat FILE LAPS P  a client of LAPS laps of about 40000 ticks, and P percent more
 * gen_dump long FILE LAPS    the same with start-up, step, tick, and one hiccup
 *
 * Dumps for the tests of lat_stats, from fixed seeds. What is planted is printed, for the test to
 * look for. The clocks are 2.5 and 2.999 GHz.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "dump.h"
#include "ping_pong_run.h"

#define PAIR_LAPS   20000
#define PAIR_WARMUP 100
#define KIND_EACH   10

static json_t *end_json(const char *host, double hz)
{
	return json_pack("{s:s,s:s,s:s,s:{s:s,s:f}}", "host", host, "device", "soft0", "kernel",
			 "6.1.0", "clock", "source", "tsc", "hz", hz);
}

static int write_file(const char *path, const struct dump_series *s, unsigned int n, double hz)
{
	json_t *facts = json_pack("{s:s,s:s,s:s,s:{},s:o,s:o}", "program", "rdma_lat", "version",
				  "0.1.0", "time", "2026-01-31T12:00:00Z", "settings", "client",
				  end_json("a", hz), "server", end_json("b", pp_hz[1]));
	struct error err;
	int rc;

	error_init(&err, "gen_dump");
	rc = dump_write(path, facts, s, n, &err);
	error_print(&err);
	json_decref(facts);
	return rc ? 1 : 0;
}

static int write_pair(const char *path)
{
	static const enum plant kinds[] = { PLANT_OUT, PLANT_BACK, PLANT_CLIENT_POLL,
					    PLANT_SERVER_POLL };
	static const char *const names[] = { "out", "back", "client", "server" };
	struct ping_pong *p = pp_open(PAIR_LAPS);
	enum plant *where = calloc(PAIR_LAPS, sizeof(*where));
	double *delay = calloc(PAIR_LAPS, sizeof(*delay));
	struct dump_series s[2];

	for (int i = 0; i < 4 * KIND_EACH; i++) {
		uint64_t lap =
			PAIR_WARMUP + 1000 + (uint64_t)i * 450 + (uint64_t)(i * i * 37) % 211;

		where[lap] = kinds[i % 4];
		delay[lap] = 200e-6 + i * 1e-6;
		printf("%llu %s\n", (unsigned long long)(lap - PAIR_WARMUP + 1), names[i % 4]);
	}
	for (int i = 0; i < 8; i++) {
		where[PAIR_WARMUP + i] = PLANT_SERVER_TURN;
		delay[PAIR_WARMUP + i] = 100e-6;
	}
	pp_run(p, where, delay, 1);
	for (int e = 0; e < 2; e++)
		s[e] = (struct dump_series){ .role = e ? DUMP_SERVER : DUMP_CLIENT,
					     .kind = LATENCY_HALF_RTT,
					     .size = 8,
					     .run = 1,
					     .laps = PAIR_LAPS,
					     .warmup = PAIR_WARMUP,
					     .count = { PAIR_LAPS + !e, PAIR_LAPS, PAIR_LAPS },
					     .v = { p->post[e], p->seen[e], p->gap[e] } };
	return write_file(path, s, 2, pp_hz[0]);
}

/* The sum of four bytes: a bell without a logarithm a sample. */
static uint64_t quick_noise(struct draws *d)
{
	uint64_t x = draw_bits(d);

	return (x >> 56) + (x >> 48 & 255) + (x >> 40 & 255) + (x >> 32 & 255);
}

static void fill_flat(uint64_t *post, uint64_t laps, double percent)
{
	struct draws d = { 99 + (uint64_t)percent };
	uint64_t t = 1000000000;

	for (uint64_t k = 0; k <= laps; k++) {
		post[k] = t;
		t += (uint64_t)(39500 * (1 + percent / 100)) + quick_noise(&d);
	}
}

static void fill_long(uint64_t *post, uint64_t laps)
{
	uint64_t startup = 50, step = laps * 6 / 10, hiccup = laps * 7 / 10, tick = 10000000;
	struct draws d = { 99 };
	uint64_t t = 1000000000, next = t + tick;

	for (uint64_t k = 0; k <= laps; k++) {
		uint64_t lap = 39500 + quick_noise(&d);

		post[k] = t;
		lap += k < startup ? 100000 : 0;
		lap += k >= step ? 8000 : 0;
		lap += k == hiccup ? 5000000 : 0;
		if (t + lap > next) {
			lap += 6000;
			next += tick;
		}
		t += lap;
	}
	printf("startup %llu\nstep %llu\nhiccup %llu\n", (unsigned long long)startup,
	       (unsigned long long)step + 1, (unsigned long long)hiccup + 1);
}

/* The stamps are in a file without a name, so that any number of them is no matter of memory. */
static int write_one(const char *path, uint64_t laps, const double *percent)
{
	struct dump_series s = {
		.kind = LATENCY_HALF_RTT, .size = 8, .run = 1, .laps = laps, .count = { laps + 1 }
	};
	char name[4096];
	uint64_t *post;
	int fd;

	snprintf(name, sizeof(name), "%s.XXXXXX", path);
	fd = mkstemp(name);
	unlink(name);
	if (fd < 0 || ftruncate(fd, (off_t)(laps + 1) * 8))
		return 1;
	post = mmap(NULL, (laps + 1) * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (post == MAP_FAILED)
		return 1;
	if (percent)
		fill_flat(post, laps, *percent);
	else
		fill_long(post, laps);
	s.v[DUMP_POST] = post;
	return write_file(path, &s, 1, 2.5e9);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "pair"))
		return write_pair(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "long"))
		return write_one(argv[2], strtoull(argv[3], NULL, 10), NULL);
	if (argc == 5 && !strcmp(argv[1], "flat")) {
		double percent = atof(argv[4]);

		return write_one(argv[2], strtoull(argv[3], NULL, 10), &percent);
	}
	fprintf(stderr, "gen_dump pair FILE | flat FILE LAPS PERCENT | long FILE LAPS\n");
	return 2;
}
