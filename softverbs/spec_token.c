/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pieces of a SPEC, the values in them, and the one form of its error message. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "spec_parse.h"

struct spec_tok spec_skip(struct spec_tok t, size_t n)
{
	n = n < t.n ? n : t.n;
	return (struct spec_tok){ .s = t.s + n, .n = t.n - n, .pos = t.pos + n };
}

bool spec_is(struct spec_tok t, const char *word)
{
	return t.n == strlen(word) && !strncasecmp(t.s, word, t.n);
}

static size_t find_outside(struct spec_tok t, char sep)
{
	int depth = 0;
	size_t i;

	for (i = 0; i < t.n; i++) {
		if (!depth && t.s[i] == sep)
			break;
		depth += t.s[i] == '(';
		depth -= t.s[i] == ')';
	}
	return i;
}

bool spec_cut(struct spec_tok t, char sep, struct spec_tok *head, struct spec_tok *tail)
{
	size_t i = find_outside(t, sep);

	*head = t;
	head->n = i;
	*tail = spec_skip(t, i + 1);
	return i < t.n;
}

/* s = NULL marks the end, so that a separator at the very end still yields an empty item. */
bool spec_split(struct spec_tok *rest, char sep, struct spec_tok *item)
{
	struct spec_tok tail;

	if (!rest->s)
		return false;
	if (!spec_cut(*rest, sep, item, &tail))
		tail.s = NULL;
	*rest = tail;
	return true;
}

/* What stands there is quoted without control characters, and cut when it is long. */
static void quote(struct spec_tok t, char *buf, size_t size)
{
	size_t n = t.n < size - 4 ? t.n : size - 4;

	for (size_t i = 0; i < n; i++)
		buf[i] = t.s[i] < ' ' || t.s[i] > '~' ? '?' : t.s[i];
	strcpy(buf + n, n < t.n ? "..." : "");
}

int spec_bad(struct spec_error *err, struct spec_tok t, const char *fmt, ...)
{
	char found[48];
	va_list ap;
	int n;

	quote(t, found, sizeof(found));
	err->pos = t.pos;
	n = t.n ? snprintf(err->text, sizeof(err->text), "at %zu: found \"%s\", allowed: ", t.pos,
			   found) :
		  snprintf(err->text, sizeof(err->text), "at %zu: found nothing, allowed: ", t.pos);
	va_start(ap, fmt);
	vsnprintf(err->text + n, sizeof(err->text) - (size_t)n, fmt, ap);
	va_end(ap);
	return -1;
}

static int digit(char c, unsigned int base)
{
	int d = -1;

	if (c >= '0' && c <= '9')
		d = c - '0';
	else if ((c | 32) >= 'a' && (c | 32) <= 'f')
		d = (c | 32) - 'a' + 10;
	return d < (int)base ? d : -1;
}

int spec_number(struct spec_tok t, uint64_t min, uint64_t max, uint64_t *out)
{
	unsigned int base = 10;
	uint64_t v = 0;

	if (t.n > 2 && t.s[0] == '0' && (t.s[1] | 32) == 'x') {
		base = 16;
		t = spec_skip(t, 2);
	}
	if (!t.n)
		return -1;
	for (size_t i = 0; i < t.n; i++) {
		int d = digit(t.s[i], base);

		if (d < 0 || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)d, &v))
			return -1;
	}
	if (v < min || v > max)
		return -1;
	*out = v;
	return 0;
}

/* By hand: strtod would read what the locale of the program says. */
int spec_decimal(struct spec_tok t, double *out)
{
	double v = 0, unit = 1;
	bool point = false;
	size_t digits = 0;

	for (size_t i = 0; i < t.n; i++) {
		if (t.s[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (digit(t.s[i], 10) < 0 || ++digits > 30)
			return -1;
		v = v * 10 + digit(t.s[i], 10);
		unit *= point ? 10 : 1;
	}
	*out = v / unit;
	return digits ? 0 : -1;
}

static int time_unit(struct spec_tok unit, double *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!spec_is(unit, units[i].name))
			continue;
		*ns = units[i].ns;
		return 0;
	}
	return -1;
}

/* At most 10^15 ns (11 days): a sum of terms can then never overflow. */
int spec_time(struct spec_tok t, bool bare_is_ns, uint64_t *ns)
{
	double v, scale = 1;
	size_t n = t.n;

	while (n && t.s[n - 1] != '.' && digit(t.s[n - 1], 10) < 0)
		n--;
	if (n < t.n && time_unit(spec_skip(t, n), &scale))
		return -1;
	if (spec_decimal((struct spec_tok){ t.s, n, t.pos }, &v) || v * scale > 1e15)
		return -1;
	if (n == t.n && !bare_is_ns && v > 0)
		return -1;
	*ns = (uint64_t)(v * scale + 0.5);
	return 0;
}
