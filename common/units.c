/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A number as it was read: whole + fraction, and where its unit begins. */
struct number {
	uint64_t whole;
	double fraction; /* 0 <= fraction < 1 */
	const char *unit;
};

struct unit {
	const char *name;
	uint64_t factor;
};

static int digit_value(char c, unsigned int base)
{
	int v = -1;

	if (c >= '0' && c <= '9')
		v = c - '0';
	else if (c >= 'a' && c <= 'f')
		v = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		v = c - 'A' + 10;
	return v < (int)base ? v : -1;
}

/* Digits at *s, which moves behind them. */
static int digits_parse(const char **s, unsigned int base, uint64_t *v)
{
	const char *p = *s;
	uint64_t sum = 0;
	int d;

	if (digit_value(*p, base) < 0)
		return -EINVAL;
	for (; (d = digit_value(*p, base)) >= 0; p++) {
		if (__builtin_mul_overflow(sum, base, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)d, &sum))
			return -ERANGE;
	}
	*s = p;
	*v = sum;
	return 0;
}

/* Behind the point; digits that a double cannot hold are read and do not count. */
static int fraction_parse(const char **s, double *fraction)
{
	const char *p = *s;
	double value = 0, scale = 1;

	if (digit_value(*p, 10) < 0)
		return -EINVAL;
	for (; digit_value(*p, 10) >= 0; p++) {
		if (scale >= 1e15)
			continue;
		value = value * 10 + digit_value(*p, 10);
		scale *= 10;
	}
	*s = p;
	*fraction = value / scale;
	return 0;
}

static int number_parse(const char *s, struct number *n)
{
	int rc;

	*n = (struct number){ 0 };
	if (*s != '.') {
		rc = digits_parse(&s, 10, &n->whole);
		if (rc)
			return rc;
	}
	if (*s == '.') {
		s++;
		rc = fraction_parse(&s, &n->fraction);
		if (rc)
			return rc;
	}
	n->unit = s;
	return 0;
}

int units_parse_u64(const char *s, uint64_t *v)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	uint64_t value;
	int rc;

	if (hex)
		s += 2;
	rc = digits_parse(&s, hex ? 16 : 10, &value);
	if (rc)
		return rc;
	if (*s)
		return -EINVAL;
	*v = value;
	return 0;
}

/* k, M, G, T in either case at *s: 1 to 4, and *s moves; else 0. */
static unsigned int prefix_parse(const char **s)
{
	static const char letters[] = "kKmMgGtT";
	const char *p = **s ? strchr(letters, **s) : NULL;

	if (!p)
		return 0;
	(*s)++;
	return (unsigned int)(p - letters) / 2 + 1;
}

/* One size up to the end of the text or a comma; *s moves there. */
static int size_parse(const char **s, uint64_t *v)
{
	const char *p = *s;
	unsigned int prefix;
	uint64_t value;
	int rc = digits_parse(&p, 10, &value);

	if (rc)
		return rc;
	prefix = prefix_parse(&p);
	if (prefix && *p == 'i')
		p += p[1] == 'B' ? 2 : 1;
	else if (!prefix && *p == 'B')
		p++;
	if (*p && *p != ',')
		return -EINVAL;
	if (__builtin_mul_overflow(value, 1ULL << 10 * prefix, &value))
		return -ERANGE;
	*s = p;
	*v = value;
	return 0;
}

int units_parse_size(const char *s, uint64_t *v)
{
	uint64_t value;
	int rc = size_parse(&s, &value);

	if (rc)
		return rc;
	if (*s)
		return -EINVAL;
	*v = value;
	return 0;
}

int units_parse_sizes(const char *s, uint64_t *v, size_t max)
{
	const char *p = s;
	uint64_t value;
	size_t n = 0;
	int rc;

	/* Twice: the result stays untouched when a later one is wrong. */
	for (;; p++, n++) {
		rc = size_parse(&p, &value);
		if (rc)
			return rc;
		if (!*p)
			break;
	}
	if (++n > max || n > INT32_MAX)
		return -E2BIG;
	for (p = s, n = 0;; p++) {
		size_parse(&p, &v[n++]);
		if (!*p)
			return (int)n;
	}
}

static const struct unit *unit_find(const struct unit *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

int units_parse_time(const char *s, uint64_t *ns)
{
	static const struct unit table[] = {
		{ "", 1000000000 },
		{ "ns", 1 },
		{ "nsec", 1 },
		{ "us", 1000 },
		{ "usec", 1000 },
		{ "ms", 1000000 },
		{ "msec", 1000000 },
		{ "s", 1000000000 },
		{ "sec", 1000000000 },
		{ "m", 60000000000 },
		{ "min", 60000000000 },
		{ "h", 3600000000000 },
		{ NULL, 0 },
	};
	const struct unit *u;
	struct number n;
	uint64_t value;
	int rc = number_parse(s, &n);

	if (rc)
		return rc;
	u = unit_find(table, n.unit);
	if (!u)
		return -EINVAL;
	if (__builtin_mul_overflow(n.whole, u->factor, &value) ||
	    __builtin_add_overflow(value, (uint64_t)(n.fraction * (double)u->factor + 0.5), &value))
		return -ERANGE;
	*ns = value;
	return 0;
}

int units_parse_rate(const char *s, struct units_rate *rate)
{
	/* factor: bits of one unit, 0 for messages */
	static const struct unit table[] = {
		{ "", 0 },    { "/s", 0 },  { "msg/s", 0 }, { "b/s", 1 }, { "bit/s", 1 },
		{ "bps", 1 }, { "B/s", 8 }, { "Bps", 8 },   { NULL, 0 },
	};
	const struct unit *u;
	unsigned int prefix = 0;
	struct number n;
	double value, base = 1000;
	int rc = number_parse(s, &n);

	if (rc)
		return rc;
	u = unit_find(table, n.unit);
	if (!u) {
		prefix = prefix_parse(&n.unit);
		if (prefix && *n.unit == 'i') {
			base = 1024;
			n.unit++;
		}
		u = unit_find(table, n.unit);
	}
	value = ((double)n.whole + n.fraction) * pow(base, prefix);
	if (!u || value <= 0)
		return -EINVAL;
	rate->kind = u->factor ? RATE_BITS : RATE_MESSAGES;
	rate->value = u->factor ? value * (double)u->factor : value;
	return 0;
}

const char *units_print_size(char buf[UNITS_TEXT], uint64_t bytes)
{
	unsigned int prefix = 0;

	while (bytes && bytes % 1024 == 0 && prefix < 4) {
		bytes /= 1024;
		prefix++;
	}
	snprintf(buf, UNITS_TEXT, "%llu%.*s", (unsigned long long)bytes, prefix ? 1 : 0,
		 &" kMGT"[prefix]);
	return buf;
}

const char *units_print_time(char buf[UNITS_TEXT], uint64_t ns)
{
	static const struct unit table[] = {
		{ "h", 3600000000000 }, { "m", 60000000000 }, { "s", 1000000000 },
		{ "ms", 1000000 },	{ "us", 1000 },	      { "ns", 1 },
	};
	const struct unit *u = ns ? table : &table[2];

	while (ns % u->factor)
		u++;
	snprintf(buf, UNITS_TEXT, "%llu%s", (unsigned long long)(ns / u->factor), u->name);
	return buf;
}

double units_gbit_s(double bytes_per_s)
{
	return bytes_per_s * 8 / 1e9;
}

double units_mb_s(double bytes_per_s)
{
	return bytes_per_s / 1e6;
}

double units_mib_s(double bytes_per_s)
{
	return bytes_per_s / (1 << 20);
}

double cycles_to_usec(double cycles, double hz)
{
	return cycles * 1e6 / hz;
}

uint64_t cycles_from_ns(uint64_t ns, double hz)
{
	double cycles = ceil((double)ns * (hz / 1e9));

	return cycles >= 0x1p64 ? UINT64_MAX : (uint64_t)cycles;
}

double latency_factor(enum latency_kind kind)
{
	return kind == LATENCY_HALF_RTT ? 0.5 : 1;
}

const char *latency_kind_name(enum latency_kind kind)
{
	return kind == LATENCY_HALF_RTT ? "half_rtt" : "full_rtt";
}
