/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two processes with a SPEC each, connected: what one ends with, the other sees as exit status. */
#ifndef TESTS_SOFTVERBS_TWO_H
#define TESTS_SOFTVERBS_TWO_H

#include "soft.h"

struct two {
	struct addr addr[2];
	volatile int have[2], connected[2], go, done;
};

static struct two *two;

/* Opens this end (0 or 1), swaps addresses, connects. type, depth and len are the same at both. */
static inline void two_open(struct end *e, int me, enum ibv_qp_type type, int depth, size_t len,
			    const struct knobs *k)
{
	end_open(e, "soft0");
	end_memory(e, len);
	end_qp(e, type, depth);
	two->addr[me] = end_addr(e);
	two->have[me] = 1;
	while (!two->have[!me])
		usleep(100);
	end_connect(e, &two->addr[!me], k);
	two->connected[me] = 1;
	while (!two->connected[!me])
		usleep(100);
}

/* Each function in its own process: 0 when both returned 0. */
static inline int two_run(const char *spec0, int (*f0)(void), const char *spec1, int (*f1)(void))
{
	char name[32];
	int status, bad = 0;
	pid_t pid[2];

	if (!two)
		two = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(two, 0, sizeof(*two));
	fflush(NULL);
	snprintf(name, sizeof(name), "w%d", (int)getpid());
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		setenv("SOFTVERBS_FABRIC", name, 1);
		setenv("SOFTVERBS", i ? spec1 : spec0, 1);
		alarm(60);
		exit(i ? f1() : f0());
	}
	for (int i = 0; i < 2; i++) {
		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			bad = 1;
		if (bad && i == 0)
			kill(pid[1], SIGKILL);
	}
	return bad;
}

#endif
