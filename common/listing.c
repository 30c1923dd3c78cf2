/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "listing.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 4096
#define COLUMNS	       3
#define PS_PER_USEC    1e6
#define VALUE_MAX      9e18 /* below 2^63 */

struct parser {
	struct listing *l;
	struct listing_block *at;  /* NULL: the next row begins one */
	struct listing_block next; /* what the lines before it said of it */
	bool header, perftest;
	uint64_t last; /* number of the last row */
	uint64_t line;
	const char *name;
	struct error *err;
};

static int refuse(const struct parser *p, const char *text, const char *why)
{
	char shown[48];
	size_t len = strcspn(text, "\r\n");

	error_sanitise(shown, sizeof(shown), text, len);
	return error_set(p->err, EXIT_MISUSE, 0, "%s: line %llu: \"%s\": %s", p->name,
			 (unsigned long long)p->line, shown, why);
}

/* Whitespace and the marks of a quoted mail. */
static const char *skip_quotes(const char *s)
{
	return s + strspn(s, " \t>");
}

/* What follows a number: nothing, or another column. */
static bool ends_value(char c)
{
	return c == '\0' || c == ',' || isspace((unsigned char)c);
}

/* A number from 0; the text behind it, or NULL. */
static const char *parse_value(const char *s, double *v)
{
	char *end;

	s += strspn(s, " \t");
	if (!isdigit((unsigned char)*s) && *s != '.')
		return NULL; /* signs, nan, inf, hexadecimal */
	if (s[0] == '0' && tolower((unsigned char)s[1]) == 'x')
		return NULL;
	*v = strtod(s, &end);
	return end != s && ends_value(*end) && isfinite(*v) ? end : NULL;
}

/* The number of a row and what follows its comma; NULL: the line is no row. */
static const char *row_start(const char *s, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return NULL;
	errno = 0;
	*number = strtoull(s, &end, 10);
	end += strspn(end, " \t");
	if (errno || *end != ',')
		return NULL;
	return end + 1;
}

static int grow(uint64_t **v, uint64_t room)
{
	uint64_t *more = realloc(*v, (size_t)room * sizeof(**v));

	if (!more)
		return -ENOMEM;
	*v = more;
	return 0;
}

static int block_room(struct listing_block *b)
{
	if (b->n < b->room)
		return 0;
	b->room = b->room ? 2 * b->room : 1024;
	if (b->room > SIZE_MAX / sizeof(*b->v) || grow(&b->v, b->room))
		return -ENOMEM;
	if (b->detail && (grow(&b->wait, b->room) || grow(&b->gap, b->room)))
		return -ENOMEM;
	return 0;
}

/* The block that a row belongs to: number 1 begins one, and so does a header. */
static int row_block(struct parser *p, uint64_t number, const char *text)
{
	struct listing_block *more;

	if (p->at && number != 1)
		return 0;
	if (p->l->count == LISTING_BLOCKS_MAX)
		return refuse(p, text, "too many listings in one file");
	more = realloc(p->l->block, (p->l->count + 1) * sizeof(*more));
	if (!more)
		return error_set(p->err, EXIT_FAILED, ENOMEM, "reading %s", p->name);
	p->l->block = more;
	p->at = &more[p->l->count++];
	*p->at = p->next;
	p->at->first = number;
	/* Rows without a header: usec have a point. */
	if (!p->header)
		p->at->usec = text[strcspn(text, ".e\r\n")] == '.';
	p->last = number - 1;
	return 0;
}

static uint64_t to_integer(const struct listing_block *b, double v)
{
	return (uint64_t)(b->usec ? v * PS_PER_USEC + 0.5 : v + 0.5);
}

static int take_row(struct parser *p, const char *text, uint64_t number, const char *values)
{
	uint64_t *to[COLUMNS];
	int columns;

	if (row_block(p, number, text))
		return -1;
	columns = p->at->detail ? COLUMNS : 1;
	if (block_room(p->at))
		return error_set(p->err, EXIT_FAILED, ENOMEM, "reading %s", p->name);
	to[0] = &p->at->v[p->at->n];
	to[1] = columns > 1 ? &p->at->wait[p->at->n] : NULL;
	to[2] = columns > 1 ? &p->at->gap[p->at->n] : NULL;
	for (int c = 0; c < columns; c++) {
		double v;
		const char *end = parse_value(values, &v);

		if (!end || v >= VALUE_MAX / (p->at->usec ? PS_PER_USEC : 1))
			return refuse(p, text,
				      "no number of 0 or above; remove the line, or make "
				      "the listing again");
		*to[c] = to_integer(p->at, v);
		values = *end == ',' ? end + 1 : end;
	}
	p->at->n++;
	/* Rows that were cut out, such as by "..." in a report. */
	if (number > p->last + 1)
		p->at->missing += number - p->last - 1;
	p->last = number;
	return 0;
}

/* "#, cycles" and its relatives. */
static bool take_header(struct parser *p, const char *s)
{
	if (strncmp(s, "#,", 2))
		return false;
	s += 2 + strspn(s + 2, " \t");
	if (strncmp(s, "usec", 4) && strncmp(s, "cycles", 6))
		return false;
	p->next.usec = *s == 'u';
	p->next.detail = strstr(s, "post to seen") && strstr(s, "longest poll gap");
	p->header = true;
	p->at = NULL;
	return true;
}

/* "# size 64", "# sorted, 1000 samples", "# unsorted, 1000 samples". */
static void take_mark(struct parser *p, const char *s)
{
	if (!strncmp(s, "# size ", 7))
		p->next.size = strtoull(s + 7, NULL, 10);
	else if (!strncmp(s, "# sorted,", 9))
		p->next.sorted = true;
	else if (!strncmp(s, "# unsorted,", 11))
		p->next.sorted = false;
	else
		return;
	p->at = NULL;
}

/* Of the run: which end, which operation, which clock. */
static void take_facts(struct parser *p, const char *s)
{
	const char *mhz = strstr(s, " MHz +/-");

	if (strstr(s, " (client): ") || strstr(s, " (server): ")) {
		p->l->ours = true;
		p->l->role = strstr(s, " (client): ") ? LISTING_CLIENT : LISTING_SERVER;
		p->l->full = strstr(s, "full round trip") != NULL;
	} else if (!strncmp(s, "clock:", 6) && mhz) {
		while (mhz > s && (isdigit((unsigned char)mhz[-1]) || mhz[-1] == '.'))
			mhz--;
		p->l->hz = strtod(mhz, NULL) * 1e6;
		if (!(p->l->hz > 0))
			p->l->hz = NAN;
	} else if (strstr(s, " Latency Test")) {
		p->perftest = true;
		p->l->full = strstr(s, "Read") || strstr(s, "Atomic");
	} else if (strstr(s, "Waiting for client to connect")) {
		p->l->role = LISTING_SERVER;
	}
}

static int take_line(struct parser *p, const char *line)
{
	const char *s = skip_quotes(line), *values;
	uint64_t number;

	values = row_start(s, &number);
	if (values)
		return take_row(p, s, number, values);
	if (!take_header(p, s))
		*s == '#' ? take_mark(p, s) : take_facts(p, s);
	return 0;
}

/* -H without a mark: what never falls over so many rows is sorted. */
static void find_sorted(struct listing_block *b)
{
	if (b->sorted || b->n < 20 || b->v[0] == b->v[b->n - 1])
		return;
	for (uint64_t i = 1; i < b->n; i++)
		if (b->v[i] < b->v[i - 1])
			return;
	b->sorted = true;
}

static int finish(struct parser *p)
{
	if (!p->l->count)
		return error_set(p->err, EXIT_MISUSE, 0,
				 "%s: no samples in it: neither a dump (--dump) nor the text of -U "
				 "or -H",
				 p->name);
	if (p->perftest && p->l->role == LISTING_UNKNOWN)
		p->l->role = LISTING_CLIENT;
	for (unsigned int i = 0; i < p->l->count; i++)
		find_sorted(&p->l->block[i]);
	return 0;
}

int listing_read(struct listing *l, FILE *f, const char *name, struct error *err)
{
	struct parser p = { .l = l, .name = name, .err = err };
	char line[LINE_MAX_BYTES];
	bool whole = true; /* the line before ended */

	*l = (struct listing){ .hz = NAN };
	while (fgets(line, sizeof(line), f)) {
		bool start = whole;

		whole = strchr(line, '\n') != NULL;
		p.line += start;
		if (start && take_line(&p, line))
			return -1;
	}
	if (ferror(f))
		return error_set(err, EXIT_FAILED, errno, "reading %s", name);
	return finish(&p);
}

void listing_close(struct listing *l)
{
	for (unsigned int i = 0; i < l->count; i++) {
		free(l->block[i].v);
		free(l->block[i].wait);
		free(l->block[i].gap);
	}
	free(l->block);
	*l = (struct listing){ .hz = NAN };
}
