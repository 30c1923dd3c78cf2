/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Deadlines on CLOCK_MONOTONIC, and the one flag that SIGINT and SIGTERM set. */
#ifndef COMMON_DEADLINE_H
#define COMMON_DEADLINE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define DEADLINE_NEVER UINT64_MAX

/* Number of the signal that asked to end, 0 while none did. */
extern volatile sig_atomic_t stop_signal;

/* A user's signal came; SIGIO (news.h) only asks a loop to look around. */
static inline bool stop_asked(void)
{
	int sig = stop_signal;

	return sig && sig != SIGIO;
}

/*
 * SIGINT and SIGTERM set stop_signal; a second one ends the process. SIGPIPE and SIGXFSZ are
 * ignored: a write fails and is told of.
 */
void stop_install(void);

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* @ns from now; 0 is never. */
static inline uint64_t deadline_in(uint64_t ns)
{
	return ns ? now_ns() + ns : DEADLINE_NEVER;
}

static inline uint64_t deadline_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline bool deadline_passed(uint64_t deadline)
{
	return deadline != DEADLINE_NEVER && now_ns() >= deadline;
}

/* For poll(): ms left, rounded up, at most @most, so that a caller looks at stop_signal. */
int deadline_poll_ms(uint64_t deadline, int most);

#endif
