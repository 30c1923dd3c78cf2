/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conformance: one program in plain verbs, one subject a file. A check has a name and the clause
 * it follows from: a section of the InfiniBand Architecture Specification vol. 1 (numbers of
 * release 1.3), or a manual page.
 */
#ifndef CONFORMANCE_CONF_H
#define CONFORMANCE_CONF_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct conf {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	uint8_t port_num;
	int gid_index;
	union ibv_gid gid;
	bool grh;		/* a GID is used: RoCE, or -g was given */
	const char *kind;	/* softverbs, rxe, siw, hardware */
	const char *subject;
	int n, failed, skipped, differs;
};

struct subject {
	const char *name;
	void (*run)(struct conf *c);
};
extern const struct subject subjects[];	/* ends with a NULL name */

/* One line of TAP each; both return what was found out. */
bool check(struct conf *c, bool ok, const char *clause, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool check_eq(struct conf *c, long long got, long long want, const char *clause,
	      const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void skip(struct conf *c, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A line for the reader of a failure. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A device that is known not to follow the clause: what it does instead, or NULL. */
struct difference {
	const char *kind;	/* of the device */
	const char *check;	/* "subject: name" */
	const char *instead;
};
extern const struct difference differences[];	/* ends with a NULL kind */

void run_device(struct conf *c);
void run_memory(struct conf *c);
void run_objects(struct conf *c);
void run_refusals(struct conf *c);
void run_masks(struct conf *c);
void run_states(struct conf *c);
void run_values(struct conf *c);
void run_posting(struct conf *c);
void run_send(struct conf *c);
void run_rdma(struct conf *c);
void run_atomic(struct conf *c);
void run_lists(struct conf *c);
void run_access(struct conf *c);
void run_local(struct conf *c);
void run_length(struct conf *c);
void run_retry(struct conf *c);
void run_flush(struct conf *c);
void run_uc(struct conf *c);
void run_ud(struct conf *c);
void run_ah(struct conf *c);
void run_mcast(struct conf *c);
void run_srq(struct conf *c);
void run_cq(struct conf *c);
void run_channel(struct conf *c);
void run_events(struct conf *c);
void run_wr(struct conf *c);
void run_cq_ex(struct conf *c);

#endif
