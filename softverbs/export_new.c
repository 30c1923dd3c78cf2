/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What programs call instead of a libibverbs newer than 44: buffers that the device allocates and
 * the extended registration; the rest is refused, as by devices that lack it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "newer.h"
#include "pd.h"
#include "real.h"

/* Handles do not say whose they are, so ours are in a list. */
struct buf {
	struct buf *next;
	struct ibv_pd *pd;
	uint8_t *addr;
	size_t len;
};

static struct buf *bufs;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Where the list points at this handle; NULL: it is not ours. Callers hold mutex. */
static struct buf **find(const struct ibv_buf *handle)
{
	struct buf **at = &bufs;

	while (*at && (const void *)*at != (const void *)handle)
		at = &(*at)->next;
	return *at ? at : NULL;
}

static bool ours(const struct ibv_buf *handle)
{
	bool found;

	pthread_mutex_lock(&mutex);
	found = find(handle) != NULL;
	pthread_mutex_unlock(&mutex);
	return found;
}

static void *refuse(int err)
{
	errno = err;
	return NULL;
}

static void *alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **handle)
{
	struct buf *b = size ? calloc(1, sizeof(*b)) : NULL;

	if (!b)
		return refuse(size ? ENOMEM : EINVAL);
	b->pd = pd;
	b->len = size;
	b->addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->addr == MAP_FAILED) {
		free(b);
		return refuse(ENOMEM);
	}
	pthread_mutex_lock(&mutex);
	b->next = bufs;
	bufs = b;
	pthread_mutex_unlock(&mutex);
	*handle = (struct ibv_buf *)(void *)b;
	return b->addr;
}

EXPORT void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	return sv_ours(pd->context) ? alloc_buf(pd, size, buf) :
				      REAL(ibv_alloc_buf, "1.17")(pd, size, buf);
}

EXPORT void ibv_free_buf(struct ibv_buf *buf)
{
	struct buf **at, *b = NULL;

	pthread_mutex_lock(&mutex);
	at = find(buf);
	if (at) {
		b = *at;
		*at = b->next;
	}
	pthread_mutex_unlock(&mutex);
	if (!b) {
		REAL(ibv_free_buf, "1.17")(buf);
		return;
	}
	munmap(b->addr, b->len);
	free(b);
}

EXPORT int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	if (!ours(buf))
		return REAL(ibv_export_buf_dmabuf_fd, "1.18")(buf);
	errno = ENODATA;	/* ordinary memory: no DMA-buf stands behind it */
	return -1;
}

/* The range is within the buffer, and the buffer of this protection domain. */
static bool in_buf(struct ibv_pd *pd, const struct ibv_buf *handle, const void *addr, size_t len)
{
	const struct buf *b = (const void *)handle;
	size_t at = (size_t)((uintptr_t)addr - (uintptr_t)(ours(handle) ? b->addr : addr));

	return ours(handle) && b->pd == pd && at <= b->len && len <= b->len - at;
}

EXPORT struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	const struct sv_mr_init *a = (const void *)attr;

	if (!sv_ours(pd->context))
		return REAL(ibv_reg_mr_ex, "1.15")(pd, attr);
	if (a->mask & ~(uint64_t)(SV_MR_IOVA | SV_MR_ADDR | SV_MR_BUF))
		return refuse(EOPNOTSUPP);	/* a DMA-buf, a DMA handle */
	if (!(a->mask & SV_MR_ADDR) ||
	    ((a->mask & SV_MR_BUF) && !in_buf(pd, a->buf, a->addr, a->length)))
		return refuse(EINVAL);
	return sv_reg_mr(pd, a->addr, a->length,
			 a->mask & SV_MR_IOVA ? a->iova : (uintptr_t)a->addr,
			 (unsigned int)a->access,
			 a->mask & SV_MR_IOVA ? SPEC_CALL_reg_mr_iova : SPEC_CALL_reg_mr);
}

EXPORT struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr,
				     size_t len, int access)
{
	struct sv_mr_init a = { .length = len, .access = access, .addr = addr, .buf = buf,
				.mask = SV_MR_ADDR | SV_MR_BUF };

	if (!sv_ours(pd->context))
		return REAL(ibv_reg_buf_mr, "1.17")(pd, buf, addr, len, access);
	return ibv_reg_mr_ex(pd, (struct ibv_mr_init_attr *)(void *)&a);
}

EXPORT struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *c, struct ibv_dmah_init_attr *a)
{
	return sv_ours(c) ? refuse(EOPNOTSUPP) : REAL(ibv_alloc_dmah, "1.15")(c, a);
}

EXPORT int ibv_query_port_speed(struct ibv_context *c, uint32_t port, uint64_t *speed)
{
	return sv_ours(c) ? EOPNOTSUPP : REAL(ibv_query_port_speed, "1.16")(c, port, speed);
}

EXPORT int _ibv_query_comp_cntr_caps(struct ibv_context *c, struct ibv_comp_cntr_caps *caps,
				     size_t size)
{
	if (sv_ours(c))
		return EOPNOTSUPP;
	return REAL(_ibv_query_comp_cntr_caps, "1.18")(c, caps, size);
}

EXPORT struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *c,
						  struct ibv_comp_cntr_init_attr *a)
{
	return sv_ours(c) ? refuse(EOPNOTSUPP) : REAL(ibv_create_comp_cntr, "1.18")(c, a);
}

EXPORT int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
				   struct ibv_qp_attach_comp_cntr_attr *a)
{
	if (sv_ours(qp->context))
		return EOPNOTSUPP;
	return REAL(ibv_qp_attach_comp_cntr, "1.18")(qp, cntr, a);
}
