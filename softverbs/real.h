/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of the real libibverbs, for contexts that are not ours. */
#ifndef SOFTVERBS_REAL_H
#define SOFTVERBS_REAL_H

#include <infiniband/verbs.h>

/*
 * Looks it up once, by name and version: without the version (NULL, for what exists in one only)
 * an old ABI may answer.
 */
void *sv_real(void **cache, const char *name, const char *version);

#define REAL(fn, version)                                                                          \
	({                                                                                         \
		static void *cache_##fn;                                                           \
		(__typeof__(&fn))sv_real(&cache_##fn, #fn, "IBVERBS_" version);                    \
	})

#define EXPORT __attribute__((visibility("default")))

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#endif
