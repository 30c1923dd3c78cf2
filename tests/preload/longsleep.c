/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Preloaded into a program that sleeps on a completion channel: the sleep ends by what wakes it, and
 * not by its own time limit, so that a lost wake-up is seen as a sleep of LIMIT_MS. At the end of
 * the program one line on stderr says how many sleeps there were and how long the longest was.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#define LIMIT_MS 30000
#define CHANNEL 2 /* where wait_sleep() has the channel; shorter waits are for other things */

static unsigned long sleeps;
static double longest;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int poll(struct pollfd *p, nfds_t n, int ms)
{
	static int (*real)(struct pollfd *, nfds_t, int);
	double start, took;
	int rc;

	if (!real)
		real = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
	if (n <= CHANNEL || p[CHANNEL].fd < 0 || ms <= 0)
		return real(p, n, ms);
	start = now_ms();
	rc = real(p, n, LIMIT_MS);
	took = now_ms() - start;
	longest = took > longest ? took : longest;
	sleeps++;
	return rc;
}

__attribute__((destructor)) static void tell(void)
{
	fprintf(stderr, "longsleep: %lu sleeps, longest %.1f ms\n", sleeps, longest);
}
