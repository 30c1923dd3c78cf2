/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions and their keys. A key is (index + base of the process) << 8 | generation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "pd.h"

static struct sv_lock table;
static uint32_t next_idx, used;
static uint8_t generation[SV_MRS];

static struct sv_mr_sh *mr_slot(uint32_t *key)
{
	struct sv_arena *a = sv_self->arena;
	struct sv_mr_sh *mr = NULL;

	sv_lock(&table);
	for (uint32_t n = 0; n < SV_MRS && used < SV_MRS - 1 && !mr; n++) {
		uint32_t i = next_idx++ % SV_MRS;

		/* npieces UINT32_MAX: taken, but not yet to be seen */
		if (a->mr[i].key || a->mr[i].npieces == UINT32_MAX)
			continue;
		mr = &a->mr[i];
		mr->npieces = UINT32_MAX;
		if (!++generation[i])
			generation[i] = 1;
		*key = ((i + a->key_base) & 0xffffff) << 8 | generation[i];
		used++;
	}
	sv_unlock(&table);
	return mr;
}

static void mr_slot_free(struct sv_mr_sh *mr)
{
	sv_lock(&table);
	mr->npieces = 0;
	used--;
	sv_unlock(&table);
}

/*
 * After the key is gone no new request finds it; requests that found it before hold the lock of a
 * QP of ours. Once each of those locks was free, nothing touches the memory any more.
 */
static void mr_quiesce(void)
{
#ifdef __SANITIZE_THREAD__	/* which knows no fences */
	static uint32_t order;

	__atomic_fetch_add(&order, 1, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	for (uint32_t i = 0; i < __atomic_load_n(&sv_qp_high, __ATOMIC_ACQUIRE); i++) {
		uint64_t off = __atomic_load_n(&sv_qp_offs[i], __ATOMIC_ACQUIRE);
		struct sv_qp_sh *sh = off ? sv_at(sv_self, off) : NULL;

		if (!sh || !__atomic_load_n(&sh->lock.word, __ATOMIC_ACQUIRE))
			continue;
		sv_lock(&sh->lock);
		sv_unlock(&sh->lock);
	}
}

static int check_access(unsigned int access)
{
	const unsigned int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED |
		IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;

	if (access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_MW_BIND))
		return EOPNOTSUPP;
	if (access & ~known)
		return EINVAL;
	/* Who lets others write must be able to write (IBTA chapter 10.6). */
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	return 0;
}

/* What may be written must be writable memory, as when pages are pinned for it. */
static int writable(uint64_t addr, uint64_t len)
{
	struct sv_vma v[64];
	int n = len ? sv_vmas(addr, addr + len, v, 64) : 0;

	for (int i = 0; i < n; i++)
		if (!v[i].writable)
			return EFAULT;
	return 0;
}

static int mr_fill(struct sv_mr_sh *sh, struct sv_pd *pd, void *addr, size_t len, uint64_t iova,
		   unsigned int access)
{
	uint64_t at = (uint64_t)(uintptr_t)addr;
	bool pvm = sv_ctx(pd->ibv.context)->dev->spec->mode == SPEC_MODE_PVM;
	uint32_t n = 0;
	int ret = 0;

	if (at + len < at || len > sv_ctx(pd->ibv.context)->dev->spec->max_mr_size)
		return EINVAL;
	if (access & IBV_ACCESS_LOCAL_WRITE)
		ret = writable(at, len);
	if (!ret)
		ret = sv_pages_get(at, len, pvm, sh->piece, &n);
	if (ret)
		return ret;
	sh->npieces = n;
	sh->pd = pd->id;
	sh->access = access;
	sh->iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
	sh->len = len;
	sh->addr = at;
	return 0;
}

struct ibv_mr *sv_reg_mr(struct ibv_pd *ibpd, void *addr, size_t len, uint64_t iova,
			 unsigned int access, enum spec_call call)
{
	struct sv_dev *dev = sv_ctx(ibpd->context)->dev;
	struct sv_mr *mr;
	uint32_t key = 0;

	errno = sv_fail(dev, call);
	if (!errno)
		errno = check_access(access);
	if (errno)
		return NULL;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	mr->sh = mr_slot(&key);
	errno = mr->sh ? mr_fill(mr->sh, sv_pd(ibpd), addr, len, iova, access) : ENOMEM;
	if (errno) {
		int err = errno;

		if (mr->sh)
			mr_slot_free(mr->sh);
		free(mr);
		errno = err;
		return NULL;
	}
	sv_warm_own(mr->sh);
	__atomic_store_n(&mr->sh->key, key, __ATOMIC_RELEASE);
	mr->ibv.context = ibpd->context;
	mr->ibv.pd = ibpd;
	mr->ibv.addr = addr;
	mr->ibv.length = len;
	mr->ibv.lkey = mr->ibv.rkey = mr->ibv.handle = key;
	__atomic_add_fetch(&sv_pd(ibpd)->refs, 1, __ATOMIC_RELAXED);
	return &mr->ibv;
}

int sv_dereg_mr(struct ibv_mr *ibmr)
{
	struct sv_mr *mr = (struct sv_mr *)(void *)ibmr;
	int ret = sv_fail_ctx(ibmr->context, SPEC_CALL_dereg_mr);

	if (ret)
		return ret;
	__atomic_store_n(&mr->sh->key, 0, __ATOMIC_SEQ_CST);
	mr_quiesce();
	sv_pages_put(mr->sh->piece, mr->sh->npieces, mr->sh->addr);
	mr_slot_free(mr->sh);
	__atomic_sub_fetch(&sv_pd(ibmr->pd)->refs, 1, __ATOMIC_RELAXED);
	free(mr);
	return 0;
}

/* The key stays; when the new translation fails the old one is back in force. */
int sv_rereg_mr(struct ibv_mr *ibmr, int flags, struct ibv_pd *pd, void *addr, size_t len,
		int access)
{
	struct sv_mr *mr = (struct sv_mr *)(void *)ibmr;
	struct sv_mr_sh old = *mr->sh, new = old;
	struct sv_pd *to = sv_pd(flags & IBV_REREG_MR_CHANGE_PD ? pd : ibmr->pd);
	bool move = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	unsigned int acc = flags & IBV_REREG_MR_CHANGE_ACCESS ? (unsigned int)access : old.access;

	if (sv_fail_ctx(ibmr->context, SPEC_CALL_rereg_mr) || !flags ||
	    flags & ~IBV_REREG_MR_FLAGS_SUPPORTED || !to ||
	    check_access(acc) ||
	    ((flags & IBV_REREG_MR_CHANGE_ACCESS) && (access & IBV_ACCESS_ZERO_BASED)))
		return IBV_REREG_MR_ERR_INPUT;
	if (move && mr_fill(&new, to, addr, len, (uintptr_t)addr, acc))
		return IBV_REREG_MR_ERR_INPUT;
	new.pd = to->id;
	new.access = acc;
	__atomic_store_n(&mr->sh->key, 0, __ATOMIC_SEQ_CST);
	mr_quiesce();
	new.key = 0;
	*mr->sh = new;
	__atomic_store_n(&mr->sh->key, ibmr->rkey, __ATOMIC_RELEASE);
	if (move) {
		sv_pages_put(old.piece, old.npieces, old.addr);
		ibmr->addr = addr;
		ibmr->length = len;
	}
	if (to != sv_pd(ibmr->pd)) {
		__atomic_add_fetch(&to->refs, 1, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&sv_pd(ibmr->pd)->refs, 1, __ATOMIC_RELAXED);
		ibmr->pd = &to->ibv;
	}
	return 0;
}
