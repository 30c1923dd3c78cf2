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
	const char *peer_dev;	/* of the other process; NULL: the same device */
	const char *kind;	/* softverbs, rxe, siw, hardware */
	const char *subject;
	int n, failed, skipped, differs;
};

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

/* A file each, in the order of the run. */
#define SUBJECTS(X)                                                                                \
	X(device) X(memory) X(objects) X(refusals) X(masks) X(states) X(values) X(posting)         \
	X(send) X(rdma) X(atomic) X(lists) X(access) X(local) X(length) X(retry) X(flush)          \
	X(uc) X(ud) X(ah) X(pkey) X(mcast) X(srq) X(cq) X(channel) X(events) X(wr) X(cq_ex)    \
	X(large) X(many) X(process)
#define SUBJECT_PROTOTYPE(name) void run_##name(struct conf *c);
SUBJECTS(SUBJECT_PROTOTYPE)

#endif
