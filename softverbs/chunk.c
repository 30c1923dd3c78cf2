/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "chunk.h"

#include <fcntl.h>
#include <stdlib.h>

static struct sv_chunk *chunks;

/* First fit; the list is in order of the pool. */
struct sv_chunk *sv_chunk_new(uint64_t start, uint64_t end)
{
	struct sv_chunk *c = malloc(sizeof(*c)), **at = &chunks;
	uint64_t pool = 0, len = end - start;

	if (!c)
		return NULL;
	while (*at && (*at)->pool - pool < len) {
		pool = (*at)->pool + ((*at)->end - (*at)->start);
		at = &(*at)->next;
	}
	if (pool + len > sv_self->pool_size) {
		free(c);
		return NULL;
	}
	*c = (struct sv_chunk){ .start = start, .end = end, .pool = pool, .next = *at };
	*at = c;
	return c;
}

static void give_back(uint64_t pool, uint64_t len)
{
	fallocate(sv_pool_fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)pool,
		  (off_t)len);
}

void sv_chunk_free(struct sv_chunk *c)
{
	struct sv_chunk **at = &chunks;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	give_back(c->pool, c->end - c->start);
	free(c);
}

void sv_chunk_cut(struct sv_chunk *c, uint64_t end)
{
	if (end == c->start) {
		sv_chunk_free(c);
		return;
	}
	give_back(c->pool + (end - c->start), c->end - end);
	c->end = end;
}

void sv_chunk_ref(int64_t pool, uint64_t len, int add)
{
	uint64_t from = (uint64_t)pool, to = from + len;

	for (struct sv_chunk *c = chunks; c; c = c->next)
		if (c->pool + (c->end - c->start) > from && c->pool < to)
			c->refs += add;
}

void sv_chunk_each_idle(void (*f)(struct sv_chunk *c))
{
	for (struct sv_chunk *c = chunks, *next; c; c = next) {
		next = c->next;
		if (c->refs <= 0)
			f(c);
	}
}

void sv_chunk_drop_lost(bool (*mapped)(const struct sv_chunk *c))
{
	static uint64_t limit = 16, limit_bytes = 64 << 20;
	uint64_t idle = 0, bytes = 0;

	/* Looking at all mappings is slow: only when enough may come of it. */
	for (struct sv_chunk *c = chunks; c; c = c->next) {
		idle += c->refs <= 0;
		bytes += c->refs <= 0 ? c->end - c->start : 0;
	}
	if (idle < limit && bytes < limit_bytes)
		return;
	for (struct sv_chunk *c = chunks, *next; c; c = next) {
		next = c->next;
		if (c->refs <= 0 && !mapped(c)) {
			bytes -= c->end - c->start;
			sv_chunk_free(c);
			idle--;
		}
	}
	limit = 2 * idle > 16 ? 2 * idle : 16;
	limit_bytes = 2 * bytes > 64 << 20 ? 2 * bytes : 64 << 20;
}

struct sv_chunk *sv_chunk_first(void)
{
	return chunks;
}

void sv_chunk_reset(void)
{
	while (chunks) {	/* the child has no use for what the parent noted */
		struct sv_chunk *next = chunks->next;

		free(chunks);
		chunks = next;
	}
}
