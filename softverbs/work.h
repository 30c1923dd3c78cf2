/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work that waits: send queues whose next step is due later (RNR, a peer that does not answer,
 * planted delays). Driven by the program's own post_send and poll_cq; one helper thread a process
 * does it when the program sleeps, and holds the mutex that says the process lives.
 */
#ifndef SOFTVERBS_WORK_H
#define SOFTVERBS_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct sv_qp;

extern uint32_t sv_work_count;	/* send queues that wait */

static inline uint64_t sv_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int sv_work_start(void);
void sv_work_forget(void);
/* Somebody may sleep until a completion comes: no grace for the helper. */
void sv_work_precise(void);
void sv_work_pause(void);	/* the helper stands still until resume */
void sv_work_resume(void);

/* Looks at this QP again when due (ns of sv_now). Callers hold its send lock. */
void sv_work_add(struct sv_qp *qp, uint64_t due);
void sv_work_del(struct sv_qp *qp);
/* Runs what is due. */
void sv_work_run(bool helper);

#endif
