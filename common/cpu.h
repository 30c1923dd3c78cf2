/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which CPU an end runs on. */
#ifndef COMMON_CPU_H
#define COMMON_CPU_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

enum cpu_wish_kind { CPU_AUTO, CPU_NONE, CPU_LIST, CPU_NODE };

/* One side of -T. */
struct cpu_wish {
	enum cpu_wish_kind kind;
	cpu_set_t list; /* of CPU_LIST */
	int node;       /* of CPU_NODE */
};

/* What the choice is made from; the pure function below takes nothing else. */
struct cpu_facts {
	cpu_set_t allowed;    /* of this process */
	cpu_set_t near;       /* of the device's node, or of the asked node; empty: unknown */
	cpu_set_t interrupts; /* take interrupts of the device */
	cpu_set_t taken;      /* the other end on this host, with its SMT siblings */
	int taken_cpu;        /* -1: none */
};

struct cpu_choice {
	cpu_set_t set; /* to bind to; empty: not bound */
	int cpu;       /* the one CPU, or -1 */
	bool shared;   /* the other end has the same one: yield while waiting */
};

#define CPU_BOOT_ID 40

/* "L" or "R" out of "L,R"; @side 0 or 1. 0 or -EINVAL. A single value stands for both. */
int cpu_wish_parse(const char *text, int side, struct cpu_wish *wish);
/* Reads what @wish needs below /sys and /proc. @device may be NULL. */
void cpu_read_facts(const char *root, const char *device, const struct cpu_wish *wish,
		    int taken_cpu, struct cpu_facts *facts);
/*
 * Pure. auto: near, without interrupts, not taken; each condition is dropped in turn, the last
 * one first, when nothing is left. -1 when the wish holds no allowed CPU.
 */
int cpu_choose(const struct cpu_wish *wish, const struct cpu_facts *facts,
	       struct cpu_choice *choice);
int cpu_bind(const struct cpu_choice *choice, struct error *err);

/* "0-2,5" into a set. 0, or -EINVAL for no list and for a CPU beyond CPU_SETSIZE. */
int cpu_list_parse(const char *text, cpu_set_t *set);
int cpu_node_of(const char *root, int cpu); /* -1 when unknown */
/* Tells one host from another; empty when unknown. */
void cpu_boot_id(const char *root, char out[CPU_BOOT_ID]);

#endif
