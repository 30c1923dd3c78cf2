/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For the tests of the device: each case runs in a process of its own, since the SPEC belongs to
 * a process, with a fabric of its own; and a pair of connected QPs in it, or across a fork.
 */
#ifndef TESTS_SOFTVERBS_SOFT_BASE_H
#define TESTS_SOFTVERBS_SOFT_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s (errno %s)\n", __FILE__, __LINE__, #cond,       \
				strerror(errno));                                                  \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* One end: everything a QP needs. */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_port_attr port;
	uint8_t *buf;
	size_t len;
};

struct addr {			/* what ends tell each other */
	uint32_t qpn, rkey;
	uint64_t va;
	uint16_t lid;
	union ibv_gid gid;
};

static inline double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Two that poll each other need a core each, when there are two. */
static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static inline void fabric_remove(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/shm/softverbs-%u-t%d/fabric", (unsigned int)geteuid(),
		 (int)pid);
	unlink(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
}

/* Runs f in a child with this SPEC: 0 when it returned (or exited with) 0; at most 60 s. */
static inline int in_child(const char *spec, int (*f)(void))
{
	int status, fds[2];
	pid_t pid;

	fflush(NULL);
	if (pipe(fds))
		return -1;
	pid = fork();
	if (pid == 0) {
		char name[32];

		snprintf(name, sizeof(name), "t%d", (int)getpid());
		setenv("SOFTVERBS_FABRIC", name, 1);
		if (spec)
			setenv("SOFTVERBS", spec, 1);
		else
			unsetenv("SOFTVERBS");
		alarm(60);
		exit(f());
	}
	close(fds[0]);
	close(fds[1]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	fabric_remove(pid);	/* who was killed last could not */
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
