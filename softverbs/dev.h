/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device of this process. */
#ifndef SOFTVERBS_DEV_H
#define SOFTVERBS_DEV_H

#include <infiniband/verbs.h>

#include "dist.h"
#include "lock.h"
#include "spec.h"
#include "trace.h"

struct sv_dev {
	struct ibv_device ibv;
	const struct spec_device *spec;
	struct dist delay, out, back;
	struct dist_state rng;		/* draws, under lock */
	struct sv_lock lock;
	uint64_t nwr, nmsg;		/* WRs and messages so far, for faults (from 1) */
	uint64_t busy_until;		/* bw= */
	uint64_t ncall[SPEC_NCALLS];
	struct trace *trace;
	bool plain;			/* no delay, fault or trace: the short way */
	bool faults;			/* of data */
};

extern struct sv_dev *sv_devs;
extern int sv_ndevs;

static inline bool sv_ours_dev(const struct ibv_device *d)
{
	return (const struct sv_dev *)d >= sv_devs && (const struct sv_dev *)d < sv_devs + sv_ndevs;
}

#endif
