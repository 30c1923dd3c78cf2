/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sizes, times and rates: read from text, printed, converted. Pure. One conversion function a
 * unit, and the unit is in its name: Gb = 10^9 bit, MB = 10^6 bytes, MiB = 2^20 bytes.
 *
 * A parser takes the whole text: -EINVAL for what is no such value (a sign, junk behind it,
 * empty), -ERANGE for one that does not fit; the result is then untouched. Locale plays no part.
 */
#ifndef UNITS_H
#define UNITS_H

#include <stddef.h>
#include <stdint.h>

#define UNITS_TEXT 32 /* bytes; every print function's result fits */

enum latency_kind { LATENCY_FULL_RTT, LATENCY_HALF_RTT };

enum rate_kind {
	RATE_MESSAGES, /* per second */
	RATE_BITS,     /* bit/s */
};

struct units_rate {
	enum rate_kind kind;
	double value; /* above 0 */
};

/* Decimal or 0x hexadecimal. */
int units_parse_u64(const char *s, uint64_t *v);
/* Bytes: 64, 4k, 4K, 4ki, 4KiB, 1M, 1G, 1T; k = 1024. No fractions. */
int units_parse_size(const char *s, uint64_t *v);
/* "1,64,4k" into v[max]: the number of sizes, or -EINVAL, -ERANGE, -E2BIG (more than max). */
int units_parse_sizes(const char *s, uint64_t *v, size_t max);
/* Nanoseconds: 500ms, 10s, 2m, 1h, 200us, 100ns; a plain number is seconds; 0.5 is fine. */
int units_parse_time(const char *s, uint64_t *ns);
/*
 * 65Gb/s, 65Gbit/s, 65Gbps, 8GB/s, 100MiB/s are RATE_BITS; 2M, 2M/s, 2Mmsg/s are RATE_MESSAGES.
 * k, M, G, T are decimal, ki to Ti binary. 0 is -EINVAL.
 */
int units_parse_rate(const char *s, struct units_rate *rate);

/* Exact: 4096 is "4k", 4097 is "4097"; what is printed parses to the same size. Returns buf. */
const char *units_print_size(char buf[UNITS_TEXT], uint64_t bytes);
/* The largest unit that keeps the time exact: "1500ms", "10s". Returns buf. */
const char *units_print_time(char buf[UNITS_TEXT], uint64_t ns);

double units_gbit_s(double bytes_per_s); /* 10^9 bit/s */
double units_mb_s(double bytes_per_s);	 /* 10^6 byte/s */
double units_mib_s(double bytes_per_s);	 /* 2^20 byte/s */

double cycles_to_usec(double cycles, double hz);
/* Rounded up, so that a deadline is never early; saturates at UINT64_MAX. */
uint64_t cycles_from_ns(uint64_t ns, double hz);

/* What a lap is multiplied by: 0.5 for a ping-pong, 1 for READ, ATOMIC and --full-rtt. */
double latency_factor(enum latency_kind kind);
/* "half_rtt", "full_rtt". */
const char *latency_kind_name(enum latency_kind kind);

#endif
