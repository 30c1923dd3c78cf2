/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The planted faults of one device. Work requests, calls and messages are counted from 1. */
#ifndef SOFTVERBS_SPEC_FAULT_H
#define SOFTVERBS_SPEC_FAULT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "calls.h"

#define SPEC_LIST 16

/* drop, dup, corrupt, rnr: with probability p, or (count > 0) count messages from the first on. */
struct spec_chance {
	double p;
	uint64_t count, first;
};

struct spec_chances {
	struct spec_chance at[SPEC_LIST];
	int n;
};

struct spec_flip {		/* n@offset: byte `offset` of the n-th message has bit 0 inverted */
	uint64_t n, offset;
};

struct spec_err {		/* the n-th work request completes with this status */
	enum ibv_wc_status status;
	uint64_t n;
};

struct spec_fail {		/* the k-th call fails with this errno (default ENOMEM) */
	enum spec_call call;	/* SPEC_CALL_any: all verbs counted together */
	uint64_t k;
	int err;
};

/* With the n-th work request, or (timed) so long after the device was opened; n = 0: at once. */
struct spec_event {
	enum ibv_event_type type;
	uint8_t port;		/* from 1 */
	bool timed;
	uint64_t n, ns;
};

struct spec_stall {		/* the process stands still for ns in the n-th work request */
	uint64_t ns, n;
};

struct spec_faults {
	struct spec_chances drop, dup, corrupt, rnr;
	struct spec_flip flip[SPEC_LIST];
	struct spec_err err[SPEC_LIST];
	struct spec_fail fail[SPEC_LIST];
	struct spec_event event[SPEC_LIST];
	struct spec_stall stall[SPEC_LIST];
	int nflip, nerr, nfail, nevent, nstall;
	uint64_t die, hang;	/* the process dies (SIGKILL) or hangs at this one; 0: never */
};

#endif
