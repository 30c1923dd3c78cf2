/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One counter read an architecture. cycles_tsc() does not pass earlier instructions: what
 * stands before it has happened. Nothing holds back later ones, since a stamp comes just before
 * a post and a second fence would be paid in every lap.
 */
#ifndef CYCLES_ARCH_H
#define CYCLES_ARCH_H

#include <stdint.h>
#include <time.h>

static inline uint64_t cycles_gettime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(CYCLES_NO_COUNTER)
/* As on a CPU that is not listed. */
#elif defined(__x86_64__) || defined(__i386__)
#define CYCLES_NAME	   "tsc"
#define CYCLES_KERNEL_NAME "tsc"
#define CYCLES_ORDER	   "lfence\n\t"
#define CYCLES_READ(order, v)                                                                      \
	do {                                                                                       \
		uint32_t lo_, hi_;                                                                 \
		__asm__ volatile(order "rdtsc" : "=a"(lo_), "=d"(hi_)::"memory");                  \
		v = (uint64_t)hi_ << 32 | lo_;                                                     \
	} while (0)
#elif defined(__aarch64__)
#define CYCLES_NAME	      "cntvct"
#define CYCLES_KERNEL_NAME    "arch_sys_counter"
#define CYCLES_ORDER	      "isb\n\t"
#define CYCLES_READ(order, v) __asm__ volatile(order "mrs %0, cntvct_el0" : "=r"(v)::"memory")
#elif defined(__powerpc64__)
#define CYCLES_NAME	      "timebase"
#define CYCLES_KERNEL_NAME    "timebase"
#define CYCLES_ORDER	      "isync\n\t"
#define CYCLES_READ(order, v) __asm__ volatile(order "mfspr %0, 268" : "=r"(v)::"memory")
#elif defined(__riscv) && __riscv_xlen == 64
#define CYCLES_NAME	      "time"
#define CYCLES_KERNEL_NAME    "riscv_clocksource"
#define CYCLES_ORDER	      "fence ir, ir\n\t" /* a CSR read counts as device input */
#define CYCLES_READ(order, v) __asm__ volatile(order "rdtime %0" : "=r"(v)::"memory")
#elif defined(__s390x__)
#define CYCLES_NAME	      "stck"
#define CYCLES_KERNEL_NAME    "tod"
#define CYCLES_ORDER	      "stck" /* serialises; the other is stckf, which does not */
#define CYCLES_PLAIN	      ".insn s,0xb27c0000,"
#define CYCLES_READ(order, v) __asm__ volatile(order " %0" : "=Q"(v)::"memory", "cc")
#endif

#ifdef CYCLES_READ
#define CYCLES_HAVE_COUNTER 1
#else /* clock_source_default() is CLOCK_SRC_GETTIME then, and so is every read */
#define CYCLES_HAVE_COUNTER   0
#define CYCLES_NAME	      "none"
#define CYCLES_KERNEL_NAME    ""
#define CYCLES_READ(order, v) (v = cycles_gettime())
#endif
#ifndef CYCLES_PLAIN
#define CYCLES_PLAIN ""
#endif

static inline uint64_t cycles_tsc(void)
{
	uint64_t v;

	CYCLES_READ(CYCLES_ORDER, v);
	return v;
}

/* May be moved by the CPU: only to see what the order costs. */
static inline uint64_t cycles_tsc_unordered(void)
{
	uint64_t v;

	CYCLES_READ(CYCLES_PLAIN, v);
	return v;
}

#endif
