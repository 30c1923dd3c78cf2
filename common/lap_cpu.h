/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which CPU a lap ended on, and whether its thread was switched out in it, without a system call:
 * by the thread's restartable-sequences area (rseq(2), which glibc 2.35 and later register). The
 * kernel clears rseq_cs when it switches out a thread that is not inside the section that rseq_cs
 * names; ours names one that no code is ever in.
 */
#ifndef COMMON_LAP_CPU_H
#define COMMON_LAP_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define LAP_CPU_LOST (1ull << 32) /* the thread was switched out */
#define LAP_CPU_UNKNOWN UINT32_MAX

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35) && \
	(defined(__x86_64__) || defined(__aarch64__) || defined(__powerpc64__) || defined(__s390x__))
#include <stddef.h>
#include <sys/rseq.h>

/* A section of no instructions; the kernel wants its signature before the place to abort to. */
struct lap_section {
	struct rseq_cs cs;
	uint32_t signature;
	uint32_t abort;
};

static inline struct rseq *lap_rseq(void)
{
	return (struct rseq *)(void *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* False where the kernel or the C library has none. */
static inline bool lap_section_init(struct lap_section *s)
{
	s->cs = (struct rseq_cs){ .start_ip = (uintptr_t)&s->cs,
				  .post_commit_offset = 1,
				  .abort_ip = (uintptr_t)&s->abort };
	s->signature = RSEQ_SIG;
	return __rseq_size > 0 && (int32_t)lap_rseq()->cpu_id >= 0;
}

/* From here on a switch shows. */
static inline void lap_watch(const struct lap_section *s)
{
	__atomic_store_n((uint64_t *)(void *)&lap_rseq()->rseq_cs, (uint64_t)(uintptr_t)&s->cs,
			 __ATOMIC_RELAXED);
}

/* CPU of now, with LAP_CPU_LOST; watches on. */
static inline uint64_t lap_cpu(const struct lap_section *s)
{
	struct rseq *r = lap_rseq();
	uint64_t cpu = *(volatile uint32_t *)&r->cpu_id;

	if (__atomic_load_n((uint64_t *)(void *)&r->rseq_cs, __ATOMIC_RELAXED))
		return cpu;
	lap_watch(s);
	return cpu | LAP_CPU_LOST;
}

/* The section is on a stack that ends. */
static inline void lap_unwatch(void)
{
	__atomic_store_n((uint64_t *)(void *)&lap_rseq()->rseq_cs, 0, __ATOMIC_RELAXED);
}

#else

struct lap_section {
	char none;
};

static inline bool lap_section_init(struct lap_section *s)
{
	s->none = 0;
	return false;
}

static inline void lap_watch(const struct lap_section *s)
{
	(void)s;
}

static inline uint64_t lap_cpu(const struct lap_section *s)
{
	(void)s;
	return LAP_CPU_UNKNOWN;
}

static inline void lap_unwatch(void)
{
}

#endif
#endif
