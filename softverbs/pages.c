/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages of the program moved in place into the pool. A program with one thread has whole pages
 * moved, so part pages too; with more threads only pages that lie wholly in the registration,
 * since another thread may write to the rest of a page while it is copied.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chunk.h"
#include "work.h"

#define PAGE 4096ull
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#define VMAS 256

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t pool_inode(void)
{
	static uint64_t inode;
	static int of = -1;
	struct stat st;

	if (of != sv_pool_fd() && !fstat(sv_pool_fd(), &st)) {
		of = sv_pool_fd();
		inode = st.st_ino;
	}
	return inode;
}

/*
 * By syscall(): what is copied are pages, with whatever lies between the objects in them, and
 * AddressSanitizer's pwrite takes that for an overflow.
 */
static int write_all(uint64_t from, uint64_t len, uint64_t off)
{
	while (len) {
		ssize_t n = syscall(SYS_pwrite64, sv_pool_fd(), from, len, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : EIO;
		from += (uint64_t)n;
		off += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

/* Pages that were never touched stay holes: they read as zeros here and there. */
static int copy_pages(uint64_t start, uint64_t end, uint64_t off)
{
	int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), ret = 0;
	uint64_t info[512];

	for (uint64_t at = start; at < end && !ret;) {
		size_t n = (size_t)((end - at) / PAGE), i = 0;

		n = n < 512 ? n : 512;
		if (map < 0 || pread(map, info, n * 8, (off_t)(at / PAGE * 8)) != (ssize_t)(n * 8))
			memset(info, 0xff, n * 8);
		while (i < n && !ret) {
			size_t first = i;
			bool used = info[i] >> 62;

			while (i < n && !!(info[i] >> 62) == used)
				i++;
			if (used)
				ret = write_all(at + first * PAGE, (i - first) * PAGE,
						off + (at - start) + first * PAGE);
		}
		at += n * PAGE;
	}
	if (map >= 0)
		close(map);
	return ret;
}

/* So much exists twice at a time: the kernel uses what a piece gave back for the next, still warm. */
#define STEP (8ull << 20)

static int move(uint64_t start, uint64_t len, uint64_t pool)
{
	int ret = copy_pages(start, start + len, pool);

	if (!ret && mmap((void *)(uintptr_t)start, len, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, sv_pool_fd(), (off_t)pool) == MAP_FAILED)
		ret = errno;
	return ret;
}

static int convert(uint64_t start, uint64_t end, uint64_t addr, uint64_t len)
{
	struct sv_chunk *c = sv_chunk_new(start, end);
	uint64_t at = start;
	int ret = 0;

	if (!c)
		return ENOMEM;
	while (at < end && !ret) {
		uint64_t n = end - at < STEP ? end - at : STEP;

		ret = move(at, n, c->pool + (at - start));
		at += ret ? 0 : n;
	}
	if (at < end)
		sv_chunk_cut(c, at);	/* the rest stays as it was */
	if (at == start)
		return ret;
	c->head = start < addr;
	c->tail = at > addr + len;
	/* Faults belong here, not into measured laps; reads bring 16 pages each, writes one. */
	madvise((void *)(uintptr_t)start, at - start, MADV_POPULATE_READ);
	/* As with fork support of real verbs: a child must not share what a device writes. */
	madvise((void *)(uintptr_t)start, at - start, MADV_DONTFORK);
	return ret;
}

/* Is the chunk mapped where it was, whole? The program may have unmapped or moved it. */
static bool in_place(const struct sv_chunk *c)
{
	struct sv_vma v;

	return sv_vmas(c->start, c->end, &v, 1) == 1 && v.shared && v.inode == pool_inode() &&
	       v.start <= c->start && v.end >= c->end &&
	       v.offset + (c->start - v.start) == c->pool;
}

/*
 * A chunk that nobody uses any more becomes ordinary memory again. Large ones stay: they are most
 * likely unmapped soon, which costs nothing, and copying them back would cost a lot.
 */
#define LARGE (1ull << 20)

static void restore(struct sv_chunk *c)
{
	uint64_t len = c->end - c->start;
	void *p;

	/* Another thread may write while we copy: then it stays as it is. */
	if (len > LARGE || sv_user_threads() > 1 || !in_place(c))
		return;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return;
	if (pread(sv_pool_fd(), p, len, (off_t)c->pool) == (ssize_t)len &&
	    mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)(uintptr_t)c->start) !=
	    MAP_FAILED) {
		sv_chunk_free(c);
		return;
	}
	munmap(p, len);
}

/* Does the program map any of it, at this place or (mremap) at another? */
static bool mapped(const struct sv_chunk *c)
{
	return sv_vma_of_pool(pool_inode(), c->pool, c->pool + (c->end - c->start));
}

static int convert_all(uint64_t addr, uint64_t len)
{
	static struct sv_vma v[VMAS];
	uint64_t s = addr & ~(PAGE - 1), e = (addr + len + PAGE - 1) & ~(PAGE - 1);
	int n, ret = 0;

	if (sv_user_threads() > 1) {
		s = (addr + PAGE - 1) & ~(PAGE - 1);
		e = (addr + len) & ~(PAGE - 1);
	}
	n = s < e ? sv_vmas(s, e, v, VMAS) : 0;
	for (int i = 0; i < n && !ret; i++)
		if (v[i].anon)
			ret = convert(v[i].start > s ? v[i].start : s,
				      v[i].end < e ? v[i].end : e, addr, len);
	return ret;
}

static void add_piece(struct sv_piece *piece, uint32_t *n, uint64_t start, uint64_t end,
		      int64_t pool)
{
	struct sv_piece *last = *n ? &piece[*n - 1] : NULL;

	if (start >= end)
		return;
	if (last && ((pool < 0 && last->pool < 0) ||
		     (pool >= 0 && last->pool >= 0 &&
		      last->pool + (int64_t)(last->end - last->start) == pool))) {
		last->end = end;
	} else if (*n == SV_PIECES) {
		/* Too scattered: the rest, with the last piece, goes the slow way. */
		last->end = end;
		last->pool = -1;
	} else {
		piece[(*n)++] = (struct sv_piece){ start, end, pool };
	}
}

/* What the mappings say after the conversion. A hole is an error, as with real memory pinning. */
static int collect(uint64_t addr, uint64_t len, struct sv_piece *piece, uint32_t *npieces)
{
	static struct sv_vma v[VMAS];
	uint64_t end = addr + len, at = addr;
	int n = sv_vmas(addr, end, v, VMAS);

	*npieces = 0;
	for (int i = 0; i < n && at < end; i++) {
		uint64_t to = v[i].end < end ? v[i].end : end;
		int64_t pool = -1;

		if (v[i].start > at || !v[i].readable)
			return EFAULT;
		if (v[i].shared && v[i].inode == pool_inode())
			pool = (int64_t)(v[i].offset + (at - v[i].start));
		add_piece(piece, npieces, at - addr, to - addr, pool);
		at = to;
	}
	if (at < end && n == VMAS)
		add_piece(piece, npieces, at - addr, len, -1);
	else if (at < end)
		return EFAULT;
	return 0;
}

int sv_pages_get(uint64_t addr, uint64_t len, bool pvm, struct sv_piece *piece, uint32_t *npieces)
{
	int ret;

	pthread_mutex_lock(&mutex);
	sv_work_pause();	/* our helper writes to the heap too */
	sv_chunk_drop_lost(mapped);
	ret = len && !pvm ? convert_all(addr, len) : 0;
	if (ret == ENOMEM || ret == ENOSPC)
		ret = 0;	/* the pool is full: the slow way */
	*npieces = 0;
	if (!ret && len)
		ret = collect(addr, len, piece, npieces);
	for (uint32_t i = 0; !ret && i < *npieces; i++)
		if (piece[i].pool >= 0)
			sv_chunk_ref(piece[i].pool, piece[i].end - piece[i].start, 1);
	sv_work_resume();
	pthread_mutex_unlock(&mutex);
	return ret;
}

void sv_pages_put(const struct sv_piece *piece, uint32_t npieces, uint64_t addr)
{
	(void)addr;
	pthread_mutex_lock(&mutex);
	sv_work_pause();
	for (uint32_t i = 0; i < npieces; i++)
		if (piece[i].pool >= 0)
			sv_chunk_ref(piece[i].pool, piece[i].end - piece[i].start, -1);
	sv_chunk_drop_lost(mapped);
	sv_chunk_each_idle(restore);
	sv_work_resume();
	pthread_mutex_unlock(&mutex);
}

void sv_pages_forget(void)
{
	pthread_mutex_init(&mutex, NULL);
	sv_chunk_reset();
}

/* Pages of a fork: the part pages at the ends of chunks, and whole chunks that nobody uses. */
struct snapshot {
	uint64_t addr, len;
	void *copy;
};

/* Thread-local: pages of our own data may be among those that the child does not have yet. */
static __thread struct snapshot *snaps;
static __thread size_t nsnaps, room;

static void snap(uint64_t addr, uint64_t len, uint64_t pool)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || nsnaps == room)
		return;
	if (pread(sv_pool_fd(), p, len, (off_t)pool) != (ssize_t)len) {
		munmap(p, len);
		return;
	}
	snaps[nsnaps++] = (struct snapshot){ addr, len, p };
}

void sv_pages_fork_prepare(void)
{
	size_t n = 0;

	pthread_mutex_lock(&mutex);
	for (struct sv_chunk *c = sv_chunk_first(); c; c = c->next)
		n += 2;
	room = n;
	nsnaps = 0;
	if (!n)
		return;
	snaps = mmap(NULL, n * sizeof(*snaps), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (snaps == MAP_FAILED) {
		room = 0;
		return;
	}
	for (struct sv_chunk *c = sv_chunk_first(); c; c = c->next) {
		uint64_t last = c->end - PAGE;

		if (!in_place(c))
			continue;
		if (c->refs <= 0) {
			snap(c->start, c->end - c->start, c->pool);
			continue;
		}
		if (c->head)
			snap(c->start, PAGE, c->pool);
		if (c->tail && !(c->head && last == c->start))
			snap(last, PAGE, c->pool + (last - c->start));
	}
}

void sv_pages_fork_parent(void)
{
	for (size_t i = 0; i < nsnaps; i++)
		munmap(snaps[i].copy, snaps[i].len);
	if (room)
		munmap(snaps, room * sizeof(*snaps));
	nsnaps = room = 0;
	pthread_mutex_unlock(&mutex);
}

/* The heap itself may be among those pages: nothing before the remaps may use it. */
void sv_pages_fork_child(void)
{
	for (size_t i = 0; i < nsnaps; i++)
		mremap(snaps[i].copy, snaps[i].len, snaps[i].len, MREMAP_MAYMOVE | MREMAP_FIXED,
		       (void *)(uintptr_t)snaps[i].addr);
	nsnaps = 0;
}
