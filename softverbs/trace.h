/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trace=PATH: the truth about what was planted, in PATH.PID (mode 0600), one record a line:
 *
 *	delay t=NS dev=NAME qpn=0xHEX wr=N id=0xHEX op=NAME len=BYTES way=both|out|back ns=NS
 *	effect t=NS dev=NAME qpn=0xHEX wr=N id=0xHEX op=NAME len=BYTES post=NS due=NS late=NS
 *	fault t=NS dev=NAME qpn=0xHEX wr=N id=0xHEX op=NAME len=BYTES kind=NAME arg=TEXT
 *	call  t=NS dev=NAME call=NAME k=N errno=N
 *	event t=NS dev=NAME port=N type=NAME
 *	path  t=NS dev=NAME of=ah|qp qpn=0xHEX port=N dlid=N sl=N bits=N grh=0|1 tclass=N flow=0xHEX
 *	      hop=N sgid=N (on one line)
 *
 * Times are CLOCK_MONOTONIC, wr counts the work requests of the device from 1. An effect follows
 * the delays of its work request, when that has taken effect: t is when, post when its delay began
 * to count, due when it should have been, late what t is behind due: the device's own time, and
 * that of a process which did not have a CPU. Lines are buffered and
 * whole; calls from several threads are safe, and a forked child writes a file of its own. A
 * process that is killed from outside loses what it still buffered.
 */
#ifndef SOFTVERBS_TRACE_H
#define SOFTVERBS_TRACE_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct trace;

struct trace_wr {
	const char *dev;	/* lives as long as the trace */
	uint32_t qpn;
	uint64_t n;
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	uint64_t len;
};

/*
 * NULL with errno. The file is new: one that exists is replaced, a symbolic link is not followed.
 * The same path again gives the same trace with one more user. NULL is accepted by all below.
 */
struct trace *trace_open(const char *path);
void trace_close(struct trace *t);	/* the last user's close flushes and frees */

void trace_delay(struct trace *t, const struct trace_wr *wr, const char *way, uint64_t ns);
void trace_effect(struct trace *t, const struct trace_wr *wr, uint64_t at, uint64_t post,
		  uint64_t due);
void trace_fault(struct trace *t, const struct trace_wr *wr, const char *kind, const char *arg);
void trace_call(struct trace *t, const char *dev, const char *call, uint64_t k, int err);
void trace_event(struct trace *t, const char *dev, int port, enum ibv_event_type type);
void trace_path(struct trace *t, const char *dev, const char *of, uint32_t qpn,
		const struct ibv_ah_attr *attr);

/* All open traces: runs by itself at exit; call it before a planted death (_exit, SIGKILL). */
void trace_flush_all(void);

#endif
