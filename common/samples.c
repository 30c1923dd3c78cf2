/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "samples.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/*
 * Huge pages where the kernel has some: 512 times fewer faults now, fewer TLB misses later. The
 * first touch is ours as well: in a virtual machine a populated page has cost 5 us at its first
 * write, the hypervisor's part. And an older kernel populates nothing here.
 */
static int pages_populate(volatile uint64_t *v, size_t bytes)
{
	size_t step = (size_t)sysconf(_SC_PAGESIZE) / sizeof(*v);

	madvise((void *)v, bytes, MADV_HUGEPAGE);
	if (madvise((void *)v, bytes, MADV_POPULATE_WRITE) && errno == ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < bytes / sizeof(*v); i += step)
		v[i] = 0;
	return 0;
}

int samples_open(struct samples *s, size_t cap)
{
	size_t bytes;
	void *v;

	*s = (struct samples){ 0 };
	if (!cap)
		return -EINVAL;
	if (__builtin_mul_overflow(cap, sizeof(*s->v), &bytes))
		return -EOVERFLOW;
	v = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (v == MAP_FAILED)
		return -ENOMEM; /* EAGAIN under mlockall() is the same to the caller */
	if (pages_populate(v, bytes)) {
		munmap(v, bytes);
		return -ENOMEM;
	}
	*s = (struct samples){ .v = v, .cap = cap, .bytes = bytes };
	return 0;
}

void samples_close(struct samples *s)
{
	if (s->v)
		munmap(s->v, s->bytes);
	*s = (struct samples){ 0 };
}

size_t samples_count(size_t stamps, size_t warmup)
{
	return stamps > 1 && warmup < stamps - 1 ? stamps - 1 - warmup : 0;
}

int samples_from_stamps(const uint64_t *t, size_t stamps, size_t warmup, uint64_t *out,
			uint64_t *backwards)
{
	size_t n = samples_count(stamps, warmup);
	uint64_t back = 0;

	/* Ascending, and out is never ahead of what is read: so in place is fine. */
	for (size_t k = 0; k < n; k++) {
		uint64_t from = t[warmup + k], to = t[warmup + k + 1];

		back += to < from;
		out[k] = to < from ? 0 : to - from;
	}
	*backwards = back;
	return back ? -ERANGE : 0;
}
