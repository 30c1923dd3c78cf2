/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Simulated machines, whose true rate is known, for tests of the clock. */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include <stdint.h>

#include "cycles.h"

#define MS 1000000.0

/* A machine whose time passes only when a clock is read. */
struct machine {
	double now_ns, hz;
	double cost_ns;		  /* of a read */
	double jitter_ns;	  /* at most, on top of it */
	uint64_t tick;		  /* units that the counter steps by */
	unsigned int stall_every; /* reads, then 3 ms are lost */
	double back_at_ns;	  /* the counter loses 2 ms once, then; 0 never */
	double jump_at_ns; /* the kernel's clock gains 20 us once, then; 0 never */
	double ahead_ns; /* of the counter, when its rate has changed */
	int invariant;
	unsigned int reads;
	uint64_t random;
};

static const struct machine calm = {
	.hz = 2.45e9, .cost_ns = 20, .tick = 1, .invariant = -1, .random = 1, .now_ns = 5e15
};

static inline void machine_pass(struct machine *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	m->now_ns += m->cost_ns + m->jitter_ns * (double)(m->random >> 11) * 0x1p-53;
	if (m->stall_every && ++m->reads % m->stall_every == 0)
		m->now_ns += 3 * MS;
}

static inline uint64_t machine_counter(void *arg)
{
	struct machine *m = arg;
	double lost = m->back_at_ns > 0 && m->now_ns >= m->back_at_ns ? 2e6 : 0;
	uint64_t v;

	machine_pass(m);
	v = (uint64_t)((m->now_ns - 5e15 + 1e6 - lost + m->ahead_ns) * m->hz / 1e9);
	return v - v % m->tick;
}

static inline uint64_t machine_raw(void *arg)
{
	struct machine *m = arg;

	machine_pass(m);
	return (uint64_t)m->now_ns + (m->jump_at_ns > 0 && m->now_ns >= m->jump_at_ns ? 20000 : 0);
}

static inline int machine_invariant(void *arg)
{
	return ((struct machine *)arg)->invariant;
}

static inline struct clock_ops machine_ops(struct machine *m, const char *sys_root)
{
	return (struct clock_ops){
		.counter = machine_counter,
		.unordered = machine_counter,
		.raw_ns = machine_raw,
		.invariant = machine_invariant,
		.name = "tsc",
		.sys_root = sys_root,
		.arg = m,
	};
}

#endif
