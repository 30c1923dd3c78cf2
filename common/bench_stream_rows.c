/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A bandwidth run's rows: one a direction, and both together. */
#include "bench_stream_parts.h"

#include <math.h>
#include <string.h>

#define WINDOW_S 0.1

bool bench_stream_told(const struct bench *b)
{
	return op_get(b->op)->receives;
}

bool bench_stream_reads_behind(const struct bench *b)
{
	return b->op == OP_WRITE && b->transport == TRANSPORT_RC && b->path.max_rd_atomic > 0;
}

const char *bench_stream_confirmed(const struct bench *b)
{
	/* The group's receivers count, but nobody awaits them. */
	if (bench_mcast(b))
		return "none";
	if (bench_stream_told(b) || op_get(b->op)->fetches)
		return "receiver";
	return bench_stream_reads_behind(b) ? "read" : "none";
}

/* What nobody counts where it arrives: the initiator knows it, or nobody. */
static void complete_direction(struct bench *b, struct direction *d)
{
	if (d->received_known || !d->sender.there)
		return;
	d->received = d->sender.arrived;
	d->received_known = !bench_stream_told(b) && strcmp(bench_stream_confirmed(b), "none");
}

static struct bw_result *add_row(struct bench *b, uint64_t size, const char *direction)
{
	struct bw_result *row = &b->stream->rows[b->stream->count++];

	*row = (struct bw_result){
		.direction = direction,
		.run = b->run,
		.size = size,
		.peak = NAN,
		.best = NAN,
		.worst = NAN,
		.window_s = WINDOW_S,
		.confirmed = bench_stream_confirmed(b),
	};
	return row;
}

/* @from_client: the initiator is the client. READs and atomics bring data to their initiator. */
static void add_direction(struct bench *b, uint64_t size, const struct direction *d,
			  bool from_client)
{
	const struct sender *s = &d->sender;
	bool to_server = from_client != op_get(b->op)->fetches;
	struct bw_result *row;

	if (!s->there)
		return;
	row = add_row(b, size, to_server ? "client_to_server" : "server_to_client");
	row->sent = s->sent;
	row->received = d->received_known && d->received < s->sent ? d->received : s->sent;
	row->received_known = d->received_known;
	row->seconds = s->seconds;
	row->peak = s->peak;
	row->best = s->best;
	row->worst = s->worst;
}

/* Bytes of both in the longer of the two times. */
static void add_both(struct bench *b, uint64_t size)
{
	struct bw_result *row, *one, *two;

	row = add_row(b, size, "both");
	one = row - 2;
	two = row - 1;
	row->sent = one->sent + two->sent;
	row->received = one->received + two->received;
	row->received_known = one->received_known && two->received_known;
	row->seconds = fmax(one->seconds, two->seconds);
}

void bench_stream_add_rows(struct bench *b, uint64_t size)
{
	struct bench_stream *t = b->stream;
	struct direction *client = b->server ? &t->theirs : &t->ours;
	struct direction *server = b->server ? &t->ours : &t->theirs;

	complete_direction(b, client);
	complete_direction(b, server);
	if (op_get(b->op)->fetches)
		add_direction(b, size, server, false);
	add_direction(b, size, client, true);
	if (!op_get(b->op)->fetches)
		add_direction(b, size, server, false);
	if (client->sender.there && server->sender.there)
		add_both(b, size);
}

int bench_stream_judge_loss(struct bench *b, const struct direction *d)
{
	uint64_t lost = d->sender.there && d->received_known && d->received < d->sender.sent ?
				d->sender.sent - d->received : 0;

	if (!lost || b->set.allow_loss)
		return 0;
	return error_set(b->err, EXIT_DATA, 0,
			 "%llu of %llu messages were lost; --allow-loss takes that for no failure",
			 (unsigned long long)lost, (unsigned long long)d->sender.sent);
}

double bench_stream_rate(const struct bench *b)
{
	const struct bench_stream *t = b->stream;
	const struct bw_result *last = t && t->count ? &t->rows[t->count - 1] : NULL;

	if (!last || !(last->seconds > 0))
		return NAN;
	return (double)last->received * (double)last->size / last->seconds;
}
