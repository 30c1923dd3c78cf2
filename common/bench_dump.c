/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --dump: the stamps of each run are copied before they become samples; after the results the ends
 * that want them get the other's. One file at the end.
 */
#include "bench_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "plan.h"

struct bench_dumped {
	struct dump_series *series;
	unsigned int count;
	unsigned int own; /* of this end, of the run that has just ended: number + 1; 0: none */
};

static struct dump_series *add_series(struct bench *b)
{
	struct bench_dumped *d = b->dumped;
	struct dump_series *grown;

	if (!d)
		d = b->dumped = calloc(1, sizeof(*d));
	grown = d ? realloc(d->series, (d->count + 1) * sizeof(*grown)) : NULL;
	if (!grown) {
		error_set(b->err, EXIT_FAILED, ENOMEM, "keeping the stamps of a run");
		return NULL;
	}
	d->series = grown;
	memset(&grown[d->count], 0, sizeof(*grown));
	return &grown[d->count++];
}

static void free_columns(const struct dump_series *s)
{
	for (int c = 0; c < DUMP_COLUMNS; c++)
		free((void *)(uintptr_t)s->v[c]);
}

static void drop_last(struct bench_dumped *d)
{
	free_columns(&d->series[--d->count]);
}

static int copy_column(struct bench *b, struct dump_series *s, enum dump_column column,
		       const uint64_t *v, uint64_t n)
{
	uint64_t *copy = v ? malloc((n + 1) * sizeof(*copy)) : NULL;

	if (!v)
		return 0;
	if (!copy)
		return error_set(b->err, EXIT_FAILED, ENOMEM, "keeping %llu stamps",
				 (unsigned long long)n);
	memcpy(copy, v, n * sizeof(*copy));
	s->v[column] = copy;
	s->count[column] = n;
	return 0;
}

int bench_dump_keep(struct bench *b, const struct lap_run *r, uint64_t size, uint64_t laps,
		    uint64_t warmup)
{
	uint64_t stamps = b->server ? laps : laps + 1;
	struct dump_series *s;

	if (!bench_keeps_stamps(b) || !laps)
		return 0;
	s = add_series(b);
	if (!s)
		return -1;
	b->dumped->own = b->dumped->count;
	s->role = b->server ? DUMP_SERVER : DUMP_CLIENT;
	s->kind = bench_kind(b);
	s->size = size;
	s->run = b->run;
	s->ends_seen = bench_paced(b) && !b->server;
	s->laps = laps;
	s->warmup = warmup < laps ? warmup : laps;
	if (copy_column(b, s, DUMP_POST, r->post, stamps) ||
	    (!(bench_paced(b) && b->server) && copy_column(b, s, DUMP_SEEN, r->seen, laps)))
		return -1;
	if (copy_column(b, s, DUMP_CPU, r->cpu, laps) ||
	    copy_column(b, s, DUMP_DEVICE, r->device, laps))
		return -1;
	return copy_column(b, s, DUMP_GAP, r->gap, laps);
}

/* Once: what this end has of the run that has just ended; a passive one has nothing. */
static struct dump_series take_own(struct bench *b)
{
	struct bench_dumped *d = b->dumped;
	struct dump_series own = { 0 };

	if (d && d->own)
		own = d->series[d->own - 1];
	if (d)
		d->own = 0;
	return own;
}

/* Column by column behind one frame. */
static int send_series(struct bench *b, const struct dump_series *s)
{
	json_t *m = control_message("samples"), *columns = json_object();
	uint64_t all = 0;

	for (int c = 0; c < DUMP_COLUMNS; c++) {
		json_object_set_new(columns, dump_column_name(c), json_integer((json_int_t)s->count[c]));
		all += s->count[c];
	}
	json_object_set_new(m, "samples", json_integer((json_int_t)all));
	json_object_set_new(m, "bits", json_integer(64));
	json_object_set_new(m, "laps", json_integer((json_int_t)s->laps));
	json_object_set_new(m, "warmup", json_integer((json_int_t)s->warmup));
	json_object_set_new(m, "ends_seen", json_boolean(s->ends_seen));
	json_object_set_new(m, "columns", columns);
	if (control_send(&b->control, m, deadline_in(STAGE_NS), b->err))
		return -1;
	for (int c = 0; c < DUMP_COLUMNS; c++)
		if (control_send_values(&b->control, s->v[c], s->count[c], STAGE_NS, b->err))
			return -1;
	return 0;
}

#define STAMPS_MAX (2 * PLAN_SAMPLES_MAX + 2)

static int recv_column(struct bench *b, struct dump_series *s, enum dump_column column, json_t *v)
{
	json_int_t n = json_integer_value(v);
	uint64_t *to;

	if (n < 0 || (uint64_t)n > s->laps + 1)
		return error_set(b->err, EXIT_PEER, EPROTO, "the peer's samples make no sense");
	to = n ? malloc((size_t)n * sizeof(*to)) : NULL;
	if (n && !to)
		return error_set(b->err, EXIT_FAILED, ENOMEM, "%lld stamps of the peer", (long long)n);
	s->v[column] = to;
	s->count[column] = (uint64_t)n;
	return control_recv_values(&b->control, to, (uint64_t)n, STAGE_NS, b->err);
}

/* What the peer says of its laps before their columns come. */
static int take_head(struct bench *b, json_t *m, uint64_t size, struct dump_series *s)
{
	json_int_t laps = json_integer_value(json_object_get(m, "laps"));
	json_int_t warmup = json_integer_value(json_object_get(m, "warmup"));

	if (laps < 0 || (uint64_t)laps > STAMPS_MAX || warmup < 0 || warmup > laps ||
	    json_integer_value(json_object_get(m, "bits")) != 64)
		return error_set(b->err, EXIT_PEER, EPROTO, "the peer's samples make no sense");
	s->role = b->server ? DUMP_CLIENT : DUMP_SERVER;
	s->kind = bench_kind(b);
	s->size = size;
	s->run = b->run;
	s->laps = (uint64_t)laps;
	s->warmup = (uint64_t)warmup;
	s->ends_seen = json_is_true(json_object_get(m, "ends_seen"));
	return 0;
}

static int recv_series(struct bench *b, uint64_t size)
{
	json_t *m = control_recv(&b->control, "samples", deadline_in(STAGE_NS), b->err), *columns;
	struct dump_series *s = m ? add_series(b) : NULL;
	int rc = s ? take_head(b, m, size, s) : -1;

	columns = json_object_get(m, "columns");
	for (int c = 0; !rc && c < DUMP_COLUMNS; c++)
		rc = recv_column(b, s, c, json_object_get(columns, dump_column_name(c)));
	/* A passive end has no laps, and no place in the file; nor has what did not come whole. */
	if (s && (rc || !s->laps))
		drop_last(b->dumped);
	json_decref(m);
	return rc;
}

/* The client's first, so that never both wait for the other to read. */
int bench_dump_exchange(struct bench *b, uint64_t size)
{
	struct dump_series ours = take_own(b);
	bool first = !b->server;
	int rc = 0;

	if (b->dump_peer && first)
		rc = send_series(b, &ours);
	if (!rc && b->set.dump)
		rc = recv_series(b, size);
	if (!rc && b->dump_peer && !first)
		rc = send_series(b, &ours);
	return rc;
}

static json_t *end_facts(json_t *facts)
{
	return facts ? json_incref(facts) : json_object();
}

static json_t *file_facts(const struct bench *b)
{
	json_t *o = json_pack("{s:s,s:s,s:i,s:s}", "program", b->program->options.name, "version",
			      VERBSPERF_VERSION, "protocol", PROTOCOL, "time", b->time);

	json_object_set_new(o, "settings", options_settings_json(&b->program->options, &b->set));
	json_object_set_new(o, b->server ? "server" : "client", end_facts(b->local_facts));
	json_object_set_new(o, b->server ? "client" : "server", end_facts(b->remote_facts));
	return o;
}

void bench_dump_write(struct bench *b)
{
	struct bench_dumped *d = b->dumped;
	json_t *facts;

	if (!b->set.dump || !d || !d->count)
		return;
	facts = file_facts(b);
	dump_write(b->set.dump, facts, d->series, d->count, b->err);
	json_decref(facts);
}

void bench_dump_close(struct bench *b)
{
	struct bench_dumped *d = b->dumped;

	for (unsigned int i = 0; d && i < d->count; i++)
		free_columns(&d->series[i]);
	free(d ? d->series : NULL);
	free(d);
	b->dumped = NULL;
}
