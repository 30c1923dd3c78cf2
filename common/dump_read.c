/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump.h"

#define CHUNK	   32768 /* words that are read at once to check them */
#define FIRST_LINE 64

bool dump_recognise(const void *bytes, size_t n)
{
	size_t len = strlen(DUMP_MAGIC);

	return n >= len && !memcmp(bytes, DUMP_MAGIC, len);
}

/* All of it: 0 or errno; ENODATA where the file is shorter. */
static int read_at(int fd, void *out, size_t n, uint64_t at)
{
	char *to = out;

	while (n) {
		ssize_t got = pread(fd, to, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? errno : ENODATA;
		to += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

static int bad(struct error *err, const struct dump *d, const char *what)
{
	return error_set(err, EXIT_MISUSE, 0, "%s: %s; doc/dump.md has the format", d->name, what);
}

/* "verbsperf dump 1 header N\n": N bytes of header, this line with them. */
static int parse_first_line(struct dump *d, uint64_t file, uint64_t *len, struct error *err)
{
	char line[FIRST_LINE + 1] = "", *rest;
	unsigned long long version, n;
	size_t most = file < FIRST_LINE ? (size_t)file : FIRST_LINE;
	int rc = read_at(d->fd, line, most, 0);

	if (rc)
		return error_set(err, EXIT_FAILED, rc, "reading %s", d->name);
	if (!dump_recognise(line, most))
		return bad(err, d, "no dump: it does not begin with \"" DUMP_MAGIC "\"");
	version = strtoull(line + strlen(DUMP_MAGIC), &rest, 10);
	if (version != DUMP_VERSION)
		return error_set(err, EXIT_MISUSE, 0,
				 "%s: a dump of version %llu; this lat_stats reads version %d",
				 d->name, version, DUMP_VERSION);
	if (strncmp(rest, " header ", 8))
		return bad(err, d, "the first line of the dump is damaged");
	n = strtoull(rest + 8, &rest, 10);
	if (*rest == '\r')
		return bad(err, d, "line ends were converted (CRLF): copy the file in binary mode");
	if (*rest != '\n' || n % 8 || n < FIRST_LINE || n > DUMP_HEADER_MAX)
		return bad(err, d, "the first line of the dump is damaged");
	*len = n;
	return 0;
}

static json_t *parse_header(struct dump *d, uint64_t len, struct error *err)
{
	char *text = malloc((size_t)len + 1), *json;
	json_error_t why;
	json_t *v = NULL;
	int rc = text ? read_at(d->fd, text, (size_t)len, 0) : ENOMEM;

	if (rc) {
		error_set(err, rc == ENODATA ? EXIT_MISUSE : EXIT_FAILED, rc == ENODATA ? 0 : rc,
			  "%s: header of %llu bytes%s", d->name, (unsigned long long)len,
			  rc == ENODATA ? ", but the file ends before: it was cut short" : "");
	} else {
		text[len] = '\0';
		json = memchr(text, '\n', (size_t)len);
		json = json ? json + 1 : text + len;
		v = json_loadb(json, (size_t)(text + len - json), JSON_REJECT_DUPLICATES, &why);
		if (!json_is_object(v)) {
			json_decref(v);
			v = NULL;
			bad(err, d, "the header is no JSON object: the file is damaged");
		}
	}
	free(text);
	return v;
}

static bool says(const json_t *o, const char *key, const char *value)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && !strcmp(s, value);
}

/* A count: an integer from 0. */
static int take_count(const json_t *o, const char *key, uint64_t *v)
{
	const json_t *n = json_object_get(o, key);

	if (!json_is_integer(n) || json_integer_value(n) < 0)
		return -EINVAL;
	*v = (uint64_t)json_integer_value(n);
	return 0;
}

static int take_columns(const json_t *columns, struct dump_series *s, uint64_t *place)
{
	size_t known = 0;

	if (!json_is_object(columns))
		return -EINVAL;
	for (int c = 0; c < DUMP_COLUMNS; c++) {
		uint64_t bytes;

		s->place[c] = *place;
		if (!json_object_get(columns, dump_column_name(c)))
			continue;
		known++;
		if (take_count(columns, dump_column_name(c), &s->count[c]) ||
		    s->count[c] > s->laps + 1 ||
		    __builtin_mul_overflow(s->count[c], sizeof(uint64_t), &bytes) ||
		    __builtin_add_overflow(*place, bytes, place))
			return -EINVAL;
	}
	return known == json_object_size(columns) ? 0 : -EINVAL;
}

static int take_series(const json_t *o, struct dump_series *s, uint64_t *place)
{
	bool server = says(o, "role", "server"), half = says(o, "latency_kind", "half_rtt");
	bool seen = says(o, "sample_ends", "seen");

	if ((!server && !says(o, "role", "client")) ||
	    (!half && !says(o, "latency_kind", "full_rtt")) || take_count(o, "size", &s->size) ||
	    take_count(o, "run", &s->run) || take_count(o, "laps", &s->laps) ||
	    take_count(o, "warmup", &s->warmup) || take_count(o, "lost", &s->lost) ||
	    (!seen && !says(o, "sample_ends", "post")) || s->laps == INT64_MAX ||
	    s->warmup > s->laps || s->lost > s->laps)
		return -EINVAL;
	s->role = server ? DUMP_SERVER : DUMP_CLIENT;
	s->ends_seen = seen;
	s->kind = half ? LATENCY_HALF_RTT : LATENCY_FULL_RTT;
	if (take_columns(json_object_get(o, "columns"), s, place))
		return -EINVAL;
	return seen && s->count[DUMP_SEEN] < s->laps ? -EINVAL : 0;
}

/* Where each column lies; the end of the last one in *end. */
static int take_header(struct dump *d, uint64_t len, uint64_t *end, struct error *err)
{
	json_t *list = json_object_get(d->header, "series");
	size_t n = json_array_size(list);

	if (says(d->header, "byte_order", "big"))
		return bad(err, d, "its numbers are big-endian; they have to be little-endian");
	if (!says(d->header, "byte_order", "little") || !says(d->header, "unit", "counter") ||
	    json_integer_value(json_object_get(d->header, "bits")) != 64 ||
	    !json_is_false(json_object_get(d->header, "halved")))
		return bad(err, d,
			   "the header has to say unit counter, halved false, bits 64, "
			   "byte_order little");
	if (!n || n > DUMP_SERIES_MAX)
		return bad(err, d, "the header has no list of series");
	d->series = calloc(n, sizeof(*d->series));
	if (!d->series)
		return error_set(err, EXIT_FAILED, ENOMEM, "%s: %zu series", d->name, n);
	*end = len;
	for (; d->count < n; d->count++)
		if (take_series(json_array_get(list, d->count), &d->series[d->count], end))
			return error_set(err, EXIT_MISUSE, 0,
					 "%s: series %u of the header: a count is missing or "
					 "impossible; doc/dump.md has the format",
					 d->name, d->count + 1);
	return 0;
}

static int check_length(const struct dump *d, uint64_t end, uint64_t file, struct error *err)
{
	if (end > file || file - end < sizeof(uint64_t))
		return error_set(
			err, EXIT_MISUSE, 0,
			"%s: %llu bytes of data are missing: it was cut short, or is still "
			"being copied",
			d->name,
			(unsigned long long)(end > file ? end - file + sizeof(uint64_t)
							: sizeof(uint64_t) - (file - end)));
	if (file - end > sizeof(uint64_t))
		return error_set(err, EXIT_MISUSE, 0,
				 "%s: %llu bytes more than its header says: two files in one?",
				 d->name, (unsigned long long)(file - end - sizeof(uint64_t)));
	return 0;
}

static int check_sum(const struct dump *d, uint64_t end, struct error *err)
{
	uint64_t *words = malloc(CHUNK * sizeof(*words)), sum = DUMP_SEED, want;
	int rc = words ? 0 : ENOMEM;

	for (uint64_t at = 0; at < end && !rc;) {
		size_t n = end - at < CHUNK * sizeof(*words) ? (size_t)(end - at) / 8 : CHUNK;

		rc = read_at(d->fd, words, n * sizeof(*words), at);
		for (size_t i = 0; i < n && !rc && __BYTE_ORDER == __BIG_ENDIAN; i++)
			words[i] = le64toh(words[i]);
		sum = rc ? sum : dump_checksum(sum, words, n);
		at += n * sizeof(*words);
	}
	free(words);
	if (!rc)
		rc = read_at(d->fd, &want, sizeof(want), end);
	if (rc)
		return error_set(err, EXIT_FAILED, rc, "reading %s", d->name);
	if (le64toh(want) == sum)
		return 0;
	return bad(err, d, "the checksum does not match: the file is damaged");
}

int dump_open(struct dump *d, int fd, const char *name, struct error *err)
{
	uint64_t len = 0, end = 0, file;
	struct stat st;

	*d = (struct dump){ .fd = fd, .name = strdup(name) };
	if (!d->name)
		return error_set(err, EXIT_FAILED, ENOMEM, "reading a dump");
	if (fstat(fd, &st))
		return error_set(err, EXIT_FAILED, errno, "%s", name);
	file = (uint64_t)st.st_size;
	if (parse_first_line(d, file, &len, err))
		return -1;
	d->header = parse_header(d, len, err);
	if (!d->header || take_header(d, len, &end, err) || check_length(d, end, file, err))
		return -1;
	return check_sum(d, end, err);
}

void dump_close(struct dump *d)
{
	free(d->name);
	free(d->series);
	json_decref(d->header);
	*d = (struct dump){ .fd = -1 };
}

int dump_read(const struct dump *d, const struct dump_series *s, enum dump_column column,
	      uint64_t first, size_t n, uint64_t *out, struct error *err)
{
	int rc = first > s->count[column] || n > s->count[column] - first ? ERANGE : 0;

	if (!rc)
		rc = read_at(d->fd, out, n * sizeof(*out), s->place[column] + first * sizeof(*out));
	if (rc)
		return error_set(err, EXIT_FAILED, rc, "reading %s", d->name);
	for (size_t i = 0; i < n && __BYTE_ORDER == __BIG_ENDIAN; i++)
		out[i] = le64toh(out[i]);
	return 0;
}

double dump_hz(const struct dump *d, enum dump_role role)
{
	json_t *end = json_object_get(d->header, dump_role_name(role));
	json_t *hz = json_object_get(json_object_get(end, "clock"), "hz");
	double v = json_number_value(hz);

	return json_is_number(hz) && isfinite(v) && v > 0 ? v : NAN;
}
