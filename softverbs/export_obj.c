/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What programs call instead of libibverbs: PD, MR, AH, CQ, channel, SRQ, QP. */
#include <errno.h>
#include <string.h>

#include "cq.h"
#include "fault.h"
#include "pd.h"
#include "real.h"

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	return sv_ours(c) ? sv_alloc_pd(c) : REAL(ibv_alloc_pd, "1.1")(c);
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return sv_ours(pd->context) ? sv_dealloc_pd(pd) : REAL(ibv_dealloc_pd, "1.1")(pd);
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	if (!sv_ours(pd->context))
		return REAL(ibv_reg_mr, "1.1")(pd, addr, len, access);
	return sv_reg_mr(pd, addr, len, (uintptr_t)addr, (unsigned int)access, SPEC_CALL_reg_mr);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				      int access)
{
	if (!sv_ours(pd->context))
		return REAL(ibv_reg_mr_iova, "1.7")(pd, addr, len, iova, access);
	return sv_reg_mr(pd, addr, len, iova, (unsigned int)access, SPEC_CALL_reg_mr_iova);
}

/* The macro ibv_reg_mr comes here when the flags are no constant, or optional ones. */
EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				       unsigned int access)
{
	enum spec_call call = iova == (uintptr_t)addr ? SPEC_CALL_reg_mr : SPEC_CALL_reg_mr_iova;

	if (!sv_ours(pd->context))
		return REAL(ibv_reg_mr_iova2, "1.8")(pd, addr, len, iova, access);
	return sv_reg_mr(pd, addr, len, iova, access, call);
}

EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t len,
					uint64_t iova, int fd, int access)
{
	if (!sv_ours(pd->context))
		return REAL(ibv_reg_dmabuf_mr, "1.12")(pd, offset, len, iova, fd, access);
	errno = EOPNOTSUPP;
	return NULL;
}

EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t len,
			int access)
{
	if (!sv_ours(mr->context))
		return REAL(ibv_rereg_mr, "1.1")(mr, flags, pd, addr, len, access);
	return sv_rereg_mr(mr, flags, pd, addr, len, access);
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	return sv_ours(mr->context) ? sv_dereg_mr(mr) : REAL(ibv_dereg_mr, "1.1")(mr);
}

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
	return sv_ours(c) ? sv_create_comp_channel(c) : REAL(ibv_create_comp_channel, "1.0")(c);
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *ch)
{
	return sv_ours(ch->context) ? sv_destroy_comp_channel(ch) :
				      REAL(ibv_destroy_comp_channel, "1.0")(ch);
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *cq_context,
				    struct ibv_comp_channel *ch, int vector)
{
	if (!sv_ours(c))
		return REAL(ibv_create_cq, "1.1")(c, cqe, cq_context, ch, vector);
	return sv_create_cq(c, cqe, cq_context, ch, vector);
}

EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	return sv_ours(cq->context) ? sv_resize_cq(cq, cqe) : REAL(ibv_resize_cq, "1.1")(cq, cqe);
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	return sv_ours(cq->context) ? sv_destroy_cq(cq) : REAL(ibv_destroy_cq, "1.1")(cq);
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *ch, struct ibv_cq **cq, void **cq_context)
{
	if (!sv_ours(ch->context))
		return REAL(ibv_get_cq_event, "1.1")(ch, cq, cq_context);
	return sv_get_cq_event(ch, cq, cq_context);
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	if (sv_ours(cq->context))
		sv_ack_cq_events(cq, n);
	else
		REAL(ibv_ack_cq_events, "1.1")(cq, n);
}

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
	return sv_ours(pd->context) ? sv_create_srq(pd, a) : REAL(ibv_create_srq, "1.1")(pd, a);
}

EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *a, int mask)
{
	return sv_ours(srq->context) ? sv_modify_srq(srq, a, mask) :
				       REAL(ibv_modify_srq, "1.1")(srq, a, mask);
}

EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *a)
{
	return sv_ours(srq->context) ? sv_query_srq(srq, a) : REAL(ibv_query_srq, "1.1")(srq, a);
}

EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	return sv_ours(srq->context) ? sv_destroy_srq(srq) : REAL(ibv_destroy_srq, "1.1")(srq);
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	return sv_ours(pd->context) ? sv_create_qp(pd, a) : REAL(ibv_create_qp, "1.1")(pd, a);
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	if (!sv_ours(qp->context))
		return REAL(ibv_qp_to_qp_ex, "1.6")(qp);
	/* Only a QP that was made with send_ops_flags has those calls. */
	return sv_qp(qp)->ex.wr_start ? &sv_qp(qp)->ex : NULL;
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
	return sv_ours(qp->context) ? sv_modify_qp(qp, a, mask) :
				      REAL(ibv_modify_qp, "1.1")(qp, a, mask);
}

EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask,
			struct ibv_qp_init_attr *init)
{
	return sv_ours(qp->context) ? sv_query_qp(qp, a, mask, init) :
				      REAL(ibv_query_qp, "1.1")(qp, a, mask, init);
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	return sv_ours(qp->context) ? sv_destroy_qp(qp) : REAL(ibv_destroy_qp, "1.1")(qp);
}

/* Only the last word of a message is promised to come last, not each byte after the one before. */
EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return sv_ours(qp->context) ? 0 : REAL(ibv_query_qp_data_in_order, "1.14")(qp, op, flags);
}

EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return sv_ours(qp->context) ? EOPNOTSUPP : REAL(ibv_set_ece, "1.10")(qp, ece);
}

EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!sv_ours(qp->context))
		return REAL(ibv_query_ece, "1.10")(qp, ece);
	memset(ece, 0, sizeof(*ece));	/* none, as with devices that have no ECE */
	return 0;
}

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a)
{
	return sv_ours(pd->context) ? sv_create_ah(pd, a) : REAL(ibv_create_ah, "1.1")(pd, a);
}

EXPORT int ibv_init_ah_from_wc(struct ibv_context *c, uint8_t port, struct ibv_wc *wc,
			       struct ibv_grh *grh, struct ibv_ah_attr *a)
{
	if (!sv_ours(c))
		return REAL(ibv_init_ah_from_wc, "1.1")(c, port, wc, grh, a);
	return sv_init_ah_from_wc(c, port, wc, grh, a);
}

EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					    struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr a;

	if (!sv_ours(pd->context))
		return REAL(ibv_create_ah_from_wc, "1.1")(pd, wc, grh, port);
	return sv_init_ah_from_wc(pd->context, port, wc, grh, &a) ? NULL : sv_create_ah(pd, &a);
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	return sv_ours(ah->context) ? sv_destroy_ah(ah) : REAL(ibv_destroy_ah, "1.1")(ah);
}

EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *c, struct ibv_ah_attr *a,
				       uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	if (!sv_ours(c))
		return REAL(ibv_resolve_eth_l2_from_gid, "1.1")(c, a, mac, vid);
	errno = EOPNOTSUPP;	/* no network device stands behind our ports */
	return -1;
}

EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return sv_ours(qp->context) ? sv_mcast(qp, gid, lid, true) :
				      REAL(ibv_attach_mcast, "1.1")(qp, gid, lid);
}

EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return sv_ours(qp->context) ? sv_mcast(qp, gid, lid, false) :
				      REAL(ibv_detach_mcast, "1.1")(qp, gid, lid);
}
