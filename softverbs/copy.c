/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moving payload between segments of two processes. */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mem.h"

int sv_mr_segs(struct sv_peer *p, uint32_t key, uint32_t pd, uint32_t access, uint64_t addr,
	       uint64_t len, struct sv_seg *seg)
{
	struct sv_mr_sh *mr = sv_mr_find(p, key);
	uint64_t at;
	int n = 0;

	if (!mr || mr->pd != pd || (mr->access & access) != access || addr < mr->iova ||
	    addr - mr->iova > mr->len || len > mr->len - (addr - mr->iova))
		return -1;
	at = addr - mr->iova;
	if (__builtin_expect(len && at + len <= mr->piece[0].end && mr->piece[0].pool >= 0 &&
			     p->pool, 1)) {	/* nearly all: within one shared piece */
		seg->p = p->pool + mr->piece[0].pool + at;
		seg->va = mr->addr + at;
		seg->len = len;
		seg->pid = p->pid;
		return 1;
	}
	for (uint32_t i = 0; i < mr->npieces && i < SV_PIECES && len; i++) {
		const struct sv_piece *pc = &mr->piece[i];
		uint64_t l;

		if (at >= pc->end)
			continue;
		l = pc->end - at < len ? pc->end - at : len;
		seg[n] = (struct sv_seg){ .va = mr->addr + at, .len = l, .pid = p->pid };
		if (pc->pool >= 0 && p->pool)
			seg[n].p = p->pool + pc->pool + (at - pc->start);
		n++;
		at += l;
		len -= l;
	}
	return len ? -1 : n;
}

uint64_t sv_segs_len(const struct sv_seg *seg, int n)
{
	uint64_t len = 0;

	for (int i = 0; i < n; i++)
		len += seg[i].len;
	return len;
}

/* memcpy promises no order; the word at the end is what a poller of memory looks at. */
void sv_copy_last(uint8_t *dst, const uint8_t *src, size_t n)
{
	uintptr_t end = (uintptr_t)dst + n;
	size_t w = 8;

	while (w > 1 && (w > n || end % w))
		w /= 2;
	if (!n)
		return;
	n -= w;
	if (n)
		memcpy(dst, src, n);
	dst += n;
	src += n;
	if (w == 8) {
		uint64_t v;

		memcpy(&v, src, 8);
		__atomic_store_n((uint64_t *)(void *)dst, v, __ATOMIC_RELEASE);
	} else if (w == 4) {
		uint32_t v;

		memcpy(&v, src, 4);
		__atomic_store_n((uint32_t *)(void *)dst, v, __ATOMIC_RELEASE);
	} else if (w == 2) {
		uint16_t v;

		memcpy(&v, src, 2);
		__atomic_store_n((uint16_t *)(void *)dst, v, __ATOMIC_RELEASE);
	} else {
		__atomic_store_n(dst, *src, __ATOMIC_RELEASE);
	}
}

/* One call; for more than 8 bytes the kernel gets the tail as a piece of its own, the last. */
static int vm_write(pid_t pid, uint64_t va, const void *from, size_t n)
{
	struct iovec local = { (void *)(uintptr_t)from, n }, remote[2];
	size_t tail = n > 8 ? 8 : 0;

	remote[0] = (struct iovec){ (void *)(uintptr_t)va, n - tail };
	remote[1] = (struct iovec){ (void *)(uintptr_t)(va + n - tail), tail };
	return process_vm_writev(pid, &local, 1, remote, tail ? 2 : 1, 0) == (ssize_t)n ? 0 : -1;
}

static int vm_read(pid_t pid, uint64_t va, void *to, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)va, n };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n ? 0 : -1;
}

static int via_buffer(const struct sv_seg *d, const struct sv_seg *s, size_t n)
{
	static __thread uint8_t buf[65536];

	for (size_t at = 0; at < n;) {
		size_t l = n - at < sizeof(buf) ? n - at : sizeof(buf);

		if (vm_read(s->pid, s->va + at, buf, l) || vm_write(d->pid, d->va + at, buf, l))
			return -1;
		at += l;
	}
	return 0;
}

static int copy_one(const struct sv_seg *d, const struct sv_seg *s, size_t n, bool last)
{
	pid_t me = sv_self->pid;

	if (d->p && s->p) {
		if (last)
			sv_copy_last(d->p, s->p, n);
		else
			memcpy(d->p, s->p, n);
		return 0;
	}
	if (d->p)
		return vm_read(s->pid, s->va, d->p, n);
	if (s->p)
		return vm_write(d->pid, d->va, s->p, n);
	if (s->pid == me)
		return vm_write(d->pid, d->va, (void *)(uintptr_t)s->va, n);
	if (d->pid == me)
		return vm_read(s->pid, s->va, (void *)(uintptr_t)d->va, n);
	return via_buffer(d, s, n);
}

int sv_copy(const struct sv_seg *dst, int nd, const struct sv_seg *src, int ns)
{
	struct sv_seg d = { 0 }, s = { 0 };
	int id = 0, is = 0;

	if (nd == 1 && ns == 1 && dst->p && src->p) {
		sv_copy_last(dst->p, src->p, src->len);
		return 0;
	}
	for (;;) {
		size_t n;

		while (!s.len && is < ns)
			s = src[is++];
		while (!d.len && id < nd)
			d = dst[id++];
		if (!s.len || !d.len)
			return s.len ? -1 : 0;
		n = s.len < d.len ? s.len : d.len;
		if (copy_one(&d, &s, n, n == s.len && is == ns))
			return -1;
		s.len -= n;
		s.va += n;
		s.p = s.p ? s.p + n : NULL;
		d.len -= n;
		d.va += n;
		d.p = d.p ? d.p + n : NULL;
	}
}
