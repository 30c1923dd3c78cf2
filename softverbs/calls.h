/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verbs that fail=CALL@k can name: ibv_ is left out, and is accepted in front. */
#ifndef SOFTVERBS_CALLS_H
#define SOFTVERBS_CALLS_H

#define SPEC_CALLS(X)                                                                              \
	X(any)                                                                                     \
	X(get_device_list)                                                                         \
	X(open_device)                                                                             \
	X(close_device)                                                                            \
	X(query_device)                                                                            \
	X(query_device_ex)                                                                         \
	X(query_port)                                                                              \
	X(query_gid)                                                                               \
	X(query_gid_ex)                                                                            \
	X(query_gid_table)                                                                         \
	X(query_pkey)                                                                              \
	X(get_pkey_index)                                                                          \
	X(query_rt_values_ex)                                                                      \
	X(alloc_pd)                                                                                \
	X(dealloc_pd)                                                                              \
	X(alloc_td)                                                                                \
	X(alloc_parent_domain)                                                                     \
	X(reg_mr)                                                                                  \
	X(reg_mr_iova)                                                                             \
	X(rereg_mr)                                                                                \
	X(dereg_mr)                                                                                \
	X(alloc_mw)                                                                                \
	X(alloc_dm)                                                                                \
	X(create_comp_channel)                                                                     \
	X(destroy_comp_channel)                                                                    \
	X(get_cq_event)                                                                            \
	X(create_cq)                                                                               \
	X(create_cq_ex)                                                                            \
	X(resize_cq)                                                                               \
	X(destroy_cq)                                                                              \
	X(req_notify_cq)                                                                           \
	X(poll_cq)                                                                                 \
	X(create_srq)                                                                              \
	X(create_srq_ex)                                                                           \
	X(modify_srq)                                                                              \
	X(query_srq)                                                                               \
	X(destroy_srq)                                                                             \
	X(post_srq_recv)                                                                           \
	X(create_qp)                                                                               \
	X(create_qp_ex)                                                                            \
	X(modify_qp)                                                                               \
	X(query_qp)                                                                                \
	X(destroy_qp)                                                                              \
	X(post_send)                                                                               \
	X(wr_complete)                                                                             \
	X(post_recv)                                                                               \
	X(create_ah)                                                                               \
	X(destroy_ah)                                                                              \
	X(attach_mcast)                                                                            \
	X(detach_mcast)                                                                            \
	X(get_async_event)

#define SPEC_CALL_ENUM(name) SPEC_CALL_##name,
enum spec_call { SPEC_CALLS(SPEC_CALL_ENUM) SPEC_NCALLS };

#endif
