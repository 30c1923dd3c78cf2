/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lock word in memory that several processes share. It names its owner, so that a waiter sees
 * when the owner has died (one load, sv_alive) and takes the lock over: state behind a lock must
 * be one that the next owner can repair. Never held across a wait or a callback.
 */
#ifndef SOFTVERBS_LOCK_H
#define SOFTVERBS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct sv_lock {
	uint32_t word;		/* owner (see fabric.h), 0: free */
};

extern uint32_t sv_me;		/* this process as an owner, 0 before it attached */

bool sv_lock_slow(struct sv_lock *l);

/* True when the lock was taken from a dead process and what it protects may be half done. */
static inline bool sv_lock(struct sv_lock *l)
{
	uint32_t free = 0;

	if (__builtin_expect(__atomic_compare_exchange_n(&l->word, &free, sv_me, false,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 1))
		return false;
	return sv_lock_slow(l);
}

static inline bool sv_trylock(struct sv_lock *l)
{
	uint32_t free = 0;

	return __atomic_compare_exchange_n(&l->word, &free, sv_me, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static inline void sv_unlock(struct sv_lock *l)
{
	__atomic_store_n(&l->word, 0, __ATOMIC_RELEASE);
}

static inline void sv_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
