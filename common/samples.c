/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "samples.h"

#include <errno.h>
#include <sys/mman.h>

int samples_open(struct samples *s, size_t cap)
{
	size_t bytes;
	void *v;

	*s = (struct samples){ 0 };
	if (!cap)
		return -EINVAL;
	if (__builtin_mul_overflow(cap, sizeof(*s->v), &bytes))
		return -EOVERFLOW;
	v = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		 -1, 0);
	if (v == MAP_FAILED)
		return -errno;
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
