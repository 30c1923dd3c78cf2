/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGEPAGE ((size_t)2 << 20)

size_t page_align(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

static int map(struct buffer *b, size_t bytes, int flags)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | flags, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	b->addr = p;
	b->bytes = bytes;
	return 0;
}

static void unmap(struct buffer *b)
{
	munmap(b->addr, b->bytes);
}

static int alloc_pages(struct buffer *b, size_t bytes, struct error *err)
{
	int rc = map(b, page_align(bytes), 0);

	return rc ? error_set(err, EXIT_FAILED, -rc, "buffer of %zu bytes", bytes) : 0;
}

static int alloc_hugepages(struct buffer *b, size_t bytes, struct error *err)
{
	size_t whole = (bytes + HUGEPAGE - 1) & ~(HUGEPAGE - 1);
	int rc = map(b, whole, MAP_HUGETLB);

	if (rc)
		return error_set(err, EXIT_FAILED, -rc,
				 "buffer of %zu huge pages of 2 MiB; reserve them with "
				 "sysctl vm.nr_hugepages=%zu", whole / HUGEPAGE, whole / HUGEPAGE);
	return 0;
}

const struct memory_allocator memory_pages = { "pages", alloc_pages, unmap };
const struct memory_allocator memory_hugepages = { "hugepages", alloc_hugepages, unmap };

int buffer_open(struct buffer *b, const struct memory_allocator *a, size_t bytes,
		struct error *err)
{
	memset(b, 0, sizeof(*b));
	b->allocator = a;
	return a->alloc(b, bytes, err);
}

void buffer_close(struct buffer *b)
{
	if (b->addr)
		b->allocator->release(b);
	b->addr = NULL;
}

size_t memory_available(const char *proc_root)
{
	unsigned long long kb = 0;
	char path[256], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/meminfo", proc_root);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
			break;
	fclose(f);
	return (size_t)kb << 10;
}
