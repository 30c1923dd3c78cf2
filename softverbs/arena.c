/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory in the arena of this process: power-of-two classes, the lists kept in private memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "peer.h"

#define MIN_SHIFT 6
#define CLASSES 26		/* up to 2 GiB */
#define PUNCH 65536		/* from here on freed memory goes back to the system */

struct list {
	uint64_t *off;
	size_t n, cap;
};

static struct list classes[CLASSES], objects[SV_KINDS];
static uint64_t top;
static struct sv_lock lock;

static bool push(struct list *l, uint64_t off)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		uint64_t *p = realloc(l->off, cap * sizeof(*p));

		if (!p)
			return false;	/* the piece is lost, no more */
		l->off = p;
		l->cap = cap;
	}
	l->off[l->n++] = off;
	return true;
}

static unsigned int class_of(uint64_t size)
{
	unsigned int c = 0;

	while (((uint64_t)1 << (c + MIN_SHIFT)) < size)
		c++;
	return c;
}

/* A page or more starts on a page, so that punching hits nobody else. */
static uint64_t fresh(uint64_t size)
{
	uint64_t align = size < 4096 ? size : 4096;
	uint64_t start = top ? top : (sizeof(struct sv_arena) + 4095) & ~(uint64_t)4095;

	start = (start + align - 1) & ~(align - 1);
	if (start + size > SV_ARENA_SIZE)
		return 0;
	top = start + size;
	return start;
}

/*
 * As a device's queues are there when they are made: a page that comes with the first CQE on it
 * would be a period in a series of latencies. Before Linux 5.14 it is only slower.
 */
static void populate(uint64_t off, uint64_t bytes)
{
	uint64_t from = off & ~(uint64_t)4095, to = (off + bytes + 4095) & ~(uint64_t)4095;

	madvise(sv_at(sv_self, from), to - from, MADV_POPULATE_WRITE);
}

uint64_t sv_arena_alloc(uint64_t size)
{
	unsigned int c = class_of(size);
	uint64_t off = 0, bytes = (uint64_t)1 << (c + MIN_SHIFT);

	if (c >= CLASSES)
		return 0;
	sv_lock(&lock);
	if (classes[c].n) {
		off = classes[c].off[--classes[c].n];
		if (bytes < PUNCH)
			memset(sv_at(sv_self, off), 0, bytes);
	} else {
		off = fresh(bytes);
	}
	sv_unlock(&lock);
	if (off)
		populate(off, bytes);
	return off;
}

void sv_arena_free(uint64_t off, uint64_t size)
{
	unsigned int c = class_of(size);
	uint64_t bytes = (uint64_t)1 << (c + MIN_SHIFT);

	if (!off)
		return;
	sv_lock(&lock);
	if (bytes >= PUNCH && madvise(sv_at(sv_self, off), bytes, MADV_REMOVE))
		memset(sv_at(sv_self, off), 0, bytes);
	push(&classes[c], off);
	sv_unlock(&lock);
}

uint64_t sv_object_alloc(enum sv_kind kind, uint64_t size)
{
	uint64_t off = 0;

	sv_lock(&lock);
	if (objects[kind].n)
		off = objects[kind].off[--objects[kind].n];
	sv_unlock(&lock);
	return off ? off : sv_arena_alloc(size);
}

void sv_object_free(enum sv_kind kind, uint64_t off)
{
	sv_lock(&lock);
	push(&objects[kind], off);
	sv_unlock(&lock);
}

/* After a fork the child starts with an arena of its own. */
void sv_arena_reset(void)
{
	memset(classes, 0, sizeof(classes));
	memset(objects, 0, sizeof(objects));
	top = 0;
	lock.word = 0;
}
