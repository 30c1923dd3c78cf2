/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fabric of a user: one segment in a 0700 directory under /dev/shm with a slot for each
 * process, the table of QP numbers and the multicast groups. Everything else lives in memfds of
 * the processes, which vanish with them; peers open those through /proc/PID/fd/N.
 */
#ifndef SOFTVERBS_FABRIC_H
#define SOFTVERBS_FABRIC_H

#include <infiniband/verbs.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"

#define SV_SLOT_BITS 10
#define SV_SLOTS (1 << SV_SLOT_BITS)
#define SV_QPNS 65536
#define SV_GROUPS 4096

/* An owner is (generation of the slot << SV_SLOT_BITS) | slot; generations start at 1. */
struct sv_slot {
	pthread_mutex_t life;	/* robust; its process holds it all its life */
	uint32_t owner;		/* 0: free */
	uint32_t gen;
	int32_t pid, arena_fd, pool_fd;
	uint64_t nonce;		/* repeated in the arena, so that a reused PID is noticed */
} __attribute__((aligned(128)));

/* A QPN is (generation << 16) | index, so the number of a destroyed QP stays invalid for long. */
struct sv_qpn {
	uint32_t owner;		/* 0: free */
	uint32_t off;		/* of its struct sv_qp_sh in the owner's arena, in 64-byte units */
};

struct sv_group {
	uint32_t qpn;		/* 0: free */
	uint16_t mlid;
	union ibv_gid gid;
};

struct sv_fabric {
	char magic[8];
	uint32_t abi, size;
	struct sv_lock lock;	/* QP numbers and groups */
	uint32_t qpn_next;
	uint32_t ngroups;	/* groups in use are below this */
	struct sv_slot slot[SV_SLOTS];
	struct sv_qpn qpn[SV_QPNS];
	uint8_t qpn_gen[SV_QPNS];
	struct sv_group group[SV_GROUPS];
};

extern struct sv_fabric *sv_fabric;

int sv_fabric_attach(void);	/* 0 or errno, after one line on stderr; may be called again */
void sv_fabric_detach(void);
/* Runs in the helper thread, whose life is that of the process: takes a slot. 0 or errno. */
int sv_slot_take(void);

static inline bool sv_alive(uint32_t owner)
{
	struct sv_slot *s = &sv_fabric->slot[owner % SV_SLOTS];
	uint32_t word = __atomic_load_n((uint32_t *)&s->life.__data.__lock, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&s->owner, __ATOMIC_RELAXED) == owner &&
	       !(word & FUTEX_OWNER_DIED);
}

uint32_t sv_qpn_alloc(uint32_t off);	/* 0: none left */
void sv_qpn_free(uint32_t qpn);
bool sv_qpn_find(uint32_t qpn, uint32_t *owner, uint32_t *off);

int sv_group_join(uint32_t qpn, const union ibv_gid *gid, uint16_t mlid);
int sv_group_leave(uint32_t qpn, const union ibv_gid *gid, uint16_t mlid);

#endif
