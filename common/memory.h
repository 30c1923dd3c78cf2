/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where buffers come from: a table of allocators, one record a kind of memory. */
#ifndef COMMON_MEMORY_H
#define COMMON_MEMORY_H

#include <stddef.h>

#include "error.h"

struct buffer;

struct memory_allocator {
	const char *name;
	/* Fills addr and bytes (at least @bytes, whole pages, zeroed, populated). 0 or -1. */
	int (*alloc)(struct buffer *b, size_t bytes, struct error *err);
	void (*release)(struct buffer *b);
};

struct buffer {
	void *addr; /* NULL when closed */
	size_t bytes;
	const struct memory_allocator *allocator;
};

extern const struct memory_allocator memory_pages, memory_hugepages;

int buffer_open(struct buffer *b, const struct memory_allocator *a, size_t bytes,
		struct error *err);
void buffer_close(struct buffer *b);

size_t page_align(size_t bytes);

/* Bytes of memory that can be had without swapping, from /proc/meminfo; 0 when unknown. */
size_t memory_available(const char *proc_root);

#endif
