/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The number of the layout of all that processes share: two builds whose structs differ refuse
 * each other instead of misreading locks. It is made of the size of each struct and the place of
 * each member, and tests/softverbs/abi.sh sees that none is missing. SV_ABI is for what no layout
 * shows: the same bytes with another meaning.
 */
#include "cq.h"
#include "event.h"

struct place {
	uint32_t offset, size;
};

#define S(type) { 0, sizeof(struct type) },
#define M(type, member) { offsetof(struct type, member), sizeof(((struct type *)0)->member) },

static const struct place places[] = {
	{ SV_ABI, SV_SLOTS }, { SV_QPNS, SV_GROUPS }, { SV_MRS, SV_PIECES },
	{ SV_ARENA_SIZE >> 20, SV_POOL_SIZE >> 20 },

	S(sv_fabric) M(sv_fabric, magic) M(sv_fabric, abi) M(sv_fabric, size) M(sv_fabric, lock)
	M(sv_fabric, qpn_next) M(sv_fabric, ngroups) M(sv_fabric, slot) M(sv_fabric, qpn)
	M(sv_fabric, qpn_gen) M(sv_fabric, group)
	S(sv_slot) M(sv_slot, life) M(sv_slot, life.__data.__lock) M(sv_slot, owner)
	M(sv_slot, gen) M(sv_slot, pid) M(sv_slot, arena_fd) M(sv_slot, pool_fd) M(sv_slot, nonce)
	S(sv_qpn) M(sv_qpn, owner) M(sv_qpn, off)
	S(sv_group) M(sv_group, qpn) M(sv_group, mlid) M(sv_group, gid)
	S(sv_lock) M(sv_lock, word)

	S(sv_arena) M(sv_arena, magic) M(sv_arena, abi) M(sv_arena, owner) M(sv_arena, nonce)
	M(sv_arena, key_base) M(sv_arena, pid) M(sv_arena, atomics) M(sv_arena, mr)
	S(sv_mr_sh) M(sv_mr_sh, key) M(sv_mr_sh, pd) M(sv_mr_sh, access) M(sv_mr_sh, npieces)
	M(sv_mr_sh, iova) M(sv_mr_sh, len) M(sv_mr_sh, addr) M(sv_mr_sh, piece)
	S(sv_piece) M(sv_piece, start) M(sv_piece, end) M(sv_piece, pool)

	S(sv_ctx_sh) M(sv_ctx_sh, async_fd) M(sv_ctx_sh, gen) M(sv_ctx_sh, port)
	S(spec_port) M(spec_port, link) M(spec_port, state) M(spec_port, lid) M(spec_port, sm_lid)
	M(spec_port, lmc) M(spec_port, mtu) M(spec_port, gid) M(spec_port, gid_type)
	M(spec_port, ngids) M(spec_port, pkey) M(spec_port, npkeys) M(spec_port, grh_required)
	M(spec_port, width) M(spec_port, speed)

	S(sv_cqe) M(sv_cqe, seq) M(sv_cqe, status) M(sv_cqe, opcode) M(sv_cqe, flags) M(sv_cqe, sl)
	M(sv_cqe, wr_id) M(sv_cqe, byte_len) M(sv_cqe, imm) M(sv_cqe, qpn) M(sv_cqe, src_qp)
	M(sv_cqe, qp_idx) M(sv_cqe, slot) M(sv_cqe, slid) M(sv_cqe, pkey_index)
	M(sv_cqe, path_bits) M(sv_cqe, is_send) M(sv_cqe, solicited) M(sv_cqe, ts)
	S(sv_cq_sh) M(sv_cq_sh, lock) M(sv_cq_sh, idx) M(sv_cq_sh, gen) M(sv_cq_sh, mask)
	M(sv_cq_sh, cap) M(sv_cq_sh, prod) M(sv_cq_sh, armed) M(sv_cq_sh, cons_seen)
	M(sv_cq_sh, overrun) M(sv_cq_sh, ignore_overrun) M(sv_cq_sh, want_ts) M(sv_cq_sh, unread)
	M(sv_cq_sh, cpu) M(sv_cq_sh, chan_fd) M(sv_cq_sh, chan_gen) M(sv_cq_sh, ring)
	M(sv_cq_sh, ctx) M(sv_cq_sh, cons)
	S(sv_chan_msg) M(sv_chan_msg, idx) M(sv_chan_msg, gen)
	S(sv_event) M(sv_event, type) M(sv_event, of) M(sv_event, id) M(sv_event, gen)

	S(sv_rqe) M(sv_rqe, wr_id) M(sv_rqe, nsge) M(sv_rqe, slot) S(ibv_sge)
	S(sv_rq) M(sv_rq, cons) M(sv_rq, prod_seen) M(sv_rq, ring) M(sv_rq, mask) M(sv_rq, stride)
	M(sv_rq, cap) M(sv_rq, prod)
	S(sv_srq_sh) M(sv_srq_sh, lock) M(sv_srq_sh, idx) M(sv_srq_sh, gen) M(sv_srq_sh, pd)
	M(sv_srq_sh, limit) M(sv_srq_sh, ctx) M(sv_srq_sh, rq)
	S(sv_qp_sh) M(sv_qp_sh, lock) M(sv_qp_sh, epsn) M(sv_qp_sh, established)
	M(sv_qp_sh, last_wqe) M(sv_qp_sh, lost) M(sv_qp_sh, qpn) M(sv_qp_sh, state)
	M(sv_qp_sh, type) M(sv_qp_sh, idx) M(sv_qp_sh, pd) M(sv_qp_sh, access) M(sv_qp_sh, ver)
	M(sv_qp_sh, dest_qpn) M(sv_qp_sh, qkey) M(sv_qp_sh, mtu) M(sv_qp_sh, min_rnr)
	M(sv_qp_sh, max_dest_rd) M(sv_qp_sh, pkey_index) M(sv_qp_sh, port) M(sv_qp_sh, ctx)
	M(sv_qp_sh, recv_cq) M(sv_qp_sh, srq) M(sv_qp_sh, av) M(sv_qp_sh, rq)
	S(ibv_ah_attr) M(ibv_ah_attr, grh) M(ibv_ah_attr, dlid) M(ibv_ah_attr, is_global)
};

static uint32_t fold(uint32_t h, uint32_t v)	/* FNV-1a, four bytes at a time */
{
	return (h ^ v) * 16777619u;
}

uint32_t sv_abi(void)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		h = fold(fold(h, places[i].offset), places[i].size);
	return h;
}
