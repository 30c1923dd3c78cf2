/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "output.h"

#define CHUNK 8192 /* words that are written at once */

const char *dump_column_name(enum dump_column column)
{
	static const char *const names[] = { "post", "seen", "gap", "device", "cpu" };

	return names[column];
}

const char *dump_role_name(enum dump_role role)
{
	return role == DUMP_CLIENT ? "client" : "server";
}

/* Each step is a bijection of the sum, so a change inside one word is always found. */
uint64_t dump_checksum(uint64_t sum, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		sum ^= words[i];
		sum = (sum << 29 | sum >> 35) * 0x9e3779b97f4a7c15ull;
	}
	return sum;
}

static uint64_t count_lost(const struct dump_series *s)
{
	uint64_t lost = 0;

	for (uint64_t k = 0; k < s->count[DUMP_POST]; k++)
		lost += s->v[DUMP_POST][k] >> 63;
	return lost;
}

static json_t *series_json(const struct dump_series *s)
{
	json_t *columns = json_object();

	for (int c = 0; c < DUMP_COLUMNS; c++)
		if (s->count[c])
			json_object_set_new(columns, dump_column_name(c),
					    json_integer((json_int_t)s->count[c]));
	return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:s,s:s,s:o}", "role", dump_role_name(s->role),
			 "size", (json_int_t)s->size, "run", (json_int_t)s->run, "laps",
			 (json_int_t)s->laps, "warmup", (json_int_t)s->warmup, "lost",
			 (json_int_t)count_lost(s), "latency_kind", latency_kind_name(s->kind),
			 "sample_ends", s->ends_seen ? "seen" : "post", "columns", columns);
}

/* The first line, the JSON and as many spaces as make it words; malloc'ed, *len bytes. */
static char *header_text(json_t *facts, const struct dump_series *series, unsigned int count,
			 size_t *len)
{
	json_t *doc = json_copy(facts), *list = json_array();
	char *json, *text = NULL;
	size_t room;

	for (unsigned int i = 0; i < count; i++)
		json_array_append_new(list, series_json(&series[i]));
	json_object_set_new(doc, "unit", json_string("counter"));
	json_object_set_new(doc, "halved", json_false());
	json_object_set_new(doc, "bits", json_integer(64));
	json_object_set_new(doc, "byte_order", json_string("little"));
	json_object_set_new(doc, "series", list);
	json = json_dumps(doc, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
	json_decref(doc);
	if (!json)
		return NULL;
	*len = (64 + strlen(json) + 8) / 8 * 8;
	room = *len + 1;
	text = malloc(room);
	if (text) {
		int n = snprintf(text, room, DUMP_MAGIC "%d header %zu\n%s", DUMP_VERSION, *len,
				 json);

		memset(text + n, ' ', *len - (size_t)n);
		text[*len - 1] = '\n';
	}
	free(json);
	return text;
}

/* Words in the file's byte order; the checksum is of the values. */
static int write_words(FILE *f, const uint64_t *v, uint64_t n, uint64_t *sum)
{
	uint64_t out[CHUNK];

	while (n) {
		size_t now = n < CHUNK ? (size_t)n : CHUNK;

		*sum = dump_checksum(*sum, v, now);
		for (size_t i = 0; i < now; i++)
			out[i] = htole64(v[i]);
		if (fwrite(out, sizeof(*out), now, f) != now)
			return errno ? errno : EIO;
		v += now;
		n -= now;
	}
	return 0;
}

static int write_header(FILE *f, const char *text, size_t len, uint64_t *sum)
{
	for (size_t i = 0; i < len; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, text + i, sizeof(word));
		word = le64toh(word);
		*sum = dump_checksum(*sum, &word, 1);
	}
	return fwrite(text, 1, len, f) == len ? 0 : errno ? errno : EIO;
}

/* 0 or errno. */
static int write_all(FILE *f, const char *text, size_t len, const struct dump_series *series,
		     unsigned int count)
{
	uint64_t sum = DUMP_SEED, unused = 0;
	int rc = write_header(f, text, len, &sum);

	for (unsigned int i = 0; i < count; i++)
		for (int c = 0; c < DUMP_COLUMNS && !rc; c++)
			rc = write_words(f, series[i].v[c], series[i].count[c], &sum);
	return rc ? rc : write_words(f, &sum, 1, &unused);
}

int dump_write(const char *path, json_t *facts, const struct dump_series *series,
	       unsigned int count, struct error *err)
{
	struct output o;
	size_t len = 0;
	char *text = header_text(facts, series, count, &len);
	int rc;

	if (!text)
		return error_set(err, EXIT_FAILED, ENOMEM, "header of %s", path);
	if (output_open(&o, path, err)) {
		free(text);
		return -1;
	}
	errno = 0;
	rc = write_all(o.f, text, len, series, count);
	free(text);
	/* The first failure stands, and closing a stream that failed removes the temporary. */
	if (rc && rc != EPIPE)
		error_set(err, EXIT_FAILED, rc, "writing %s", path);
	if (output_close(&o, err) || error_is_set(err))
		return -1;
	return 0;
}
