/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --rdma-cm and --path-record in the driver's order: the pair out of the control connection's
 * addresses, before the plan; the server's listener, with the plan; the connections, when the QPs
 * are there.
 */
#ifndef COMMON_BENCH_CM_H
#define COMMON_BENCH_CM_H

#include "cm.h"

struct bench;

struct bench_cm {
	struct cm cm;
	struct cm_addresses addresses;
	struct cm_record record; /* from this end to the peer */
};

/* Client: the pair that the addresses lead to. */
int bench_cm_pick(struct bench *b);
/* Server: takes the client's path record; listens at the address that @c came to. */
int bench_cm_take_plan(struct bench *b, struct control *c, json_t *plan, struct error *err);
int bench_cm_take_accept(struct bench *b, json_t *accept);
/* The path as the record has it, told on stderr. */
void bench_cm_apply_record(struct bench *b);
int bench_cm_connect(struct bench *b);
/* Ends the connections; a good run's in order. */
void bench_cm_close(struct bench *b, bool good);
/* --verbose */
void bench_cm_show_attributes(const struct bench *b);

#endif
