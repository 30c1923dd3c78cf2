/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Another process (or this one) as seen from here: its arena and pool, mapped. */
#ifndef SOFTVERBS_PEER_H
#define SOFTVERBS_PEER_H

#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "shm.h"
#include "shm_queue.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct sv_peer {
	uint32_t owner;
	pid_t pid;
	int refs;
	struct sv_arena *arena;
	uint64_t arena_size, pool_size;
	bool warm;		/* its memory is in our page tables, see sv_conn_warm() */
	uint8_t *pool;		/* NULL: could not be mapped, process_vm calls instead */
	struct sv_peer_fd *fds;	/* open write ends of its channels */
	int nfds;
	struct sv_lock fd_lock;
};

extern struct sv_peer *sv_self;

/* NULL when the process has gone or is not what its slot says. Balanced by sv_peer_put. */
struct sv_peer *sv_peer_get(uint32_t owner);
void sv_peer_put(struct sv_peer *p);
/* Writes len bytes (at most PIPE_BUF) to fd of that process; gen tells a reused fd. */
int sv_peer_kick(struct sv_peer *p, int fd, uint32_t gen, const void *msg, size_t len);
int sv_self_init(void);
void sv_self_publish(struct sv_slot *s);
void sv_self_forget(void);
int sv_pool_fd(void);

static inline void *sv_at(struct sv_peer *p, uint64_t off)
{
	return (uint8_t *)p->arena + off;
}

/* The arena of this process. Zeroed memory, 64-byte aligned; 0 when it is full. */
void sv_arena_reset(void);
uint64_t sv_arena_alloc(uint64_t size);
void sv_arena_free(uint64_t off, uint64_t size);
/* Objects that peers may still look at keep their type: reused only as the same. */
enum sv_kind { SV_KIND_QP, SV_KIND_CQ, SV_KIND_SRQ, SV_KIND_CTX, SV_KINDS };
uint64_t sv_object_alloc(enum sv_kind kind, uint64_t size);
void sv_object_free(enum sv_kind kind, uint64_t off);

#endif
