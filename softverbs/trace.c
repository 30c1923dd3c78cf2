/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The trace files. One lock for all: a trace is for tests, not for speed. */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "spec_parse.h"

#define LINE 512

struct trace {
	struct trace *next;
	char *path;
	int users, fd;
	pid_t pid;
	size_t n;
	char buf[65536];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct trace *traces;
static bool at_exit;

static int open_file(const char *path)
{
	char name[4096];
	int n = snprintf(name, sizeof(name), "%s.%d", path, (int)getpid());

	if (n < 0 || (size_t)n >= sizeof(name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	/* A leftover of an earlier process with our number; never write through a link. */
	if (unlink(name) && errno != ENOENT)
		return -1;
	return open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* A full disk loses lines rather than the run. */
static void flush(struct trace *t)
{
	size_t done = 0;

	while (done < t->n) {
		ssize_t n = write(t->fd, t->buf + done, t->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	t->n = 0;
}

/* After a fork: what is buffered belongs to the parent, and so does the file. */
static void own(struct trace *t)
{
	if (t->pid == getpid())
		return;
	close(t->fd);
	t->n = 0;
	t->pid = getpid();
	t->fd = open_file(t->path);
}

void trace_flush_all(void)
{
	pthread_mutex_lock(&lock);
	for (struct trace *t = traces; t; t = t->next) {
		own(t);
		flush(t);
	}
	pthread_mutex_unlock(&lock);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static struct trace *new_trace(const char *path)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->path = strdup(path);
	t->fd = t->path ? open_file(path) : -1;
	if (t->fd < 0) {
		int err = errno;

		free(t->path);
		free(t);
		errno = err;
		return NULL;
	}
	t->pid = getpid();
	t->next = traces;
	traces = t;
	return t;
}

struct trace *trace_open(const char *path)
{
	struct trace *t;

	pthread_mutex_lock(&lock);
	if (!at_exit) {
		at_exit = true;
		atexit(trace_flush_all);
		pthread_atfork(before_fork, after_fork, after_fork);
	}
	for (t = traces; t && strcmp(t->path, path); t = t->next)
		;
	if (!t)
		t = new_trace(path);
	if (t)
		t->users++;
	pthread_mutex_unlock(&lock);
	return t;
}

void trace_close(struct trace *t)
{
	struct trace **at = &traces;

	if (!t)
		return;
	pthread_mutex_lock(&lock);
	if (--t->users == 0) {
		own(t);
		flush(t);
		while (*at != t)
			at = &(*at)->next;
		*at = t->next;
		close(t->fd);
		free(t->path);
		free(t);
	}
	pthread_mutex_unlock(&lock);
}

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000 + (unsigned long long)ts.tv_nsec;
}

/* One line: the record, the time, then fmt. */
__attribute__((format(printf, 4, 5)))
static void put(struct trace *t, const char *record, const char *dev, const char *fmt, ...)
{
	char line[LINE];
	va_list ap;
	int n;

	n = snprintf(line, sizeof(line), "%s t=%llu dev=%s ", record, now(), dev);
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	if ((size_t)n >= sizeof(line) - 1)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	pthread_mutex_lock(&lock);
	own(t);
	if (t->n + (size_t)n > sizeof(t->buf))
		flush(t);
	memcpy(t->buf + t->n, line, (size_t)n);
	t->n += (size_t)n;
	pthread_mutex_unlock(&lock);
}

static const char *op_name(enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_RDMA_WRITE:
		return "RDMA_WRITE";
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return "RDMA_WRITE_WITH_IMM";
	case IBV_WR_SEND:
		return "SEND";
	case IBV_WR_SEND_WITH_IMM:
		return "SEND_WITH_IMM";
	case IBV_WR_RDMA_READ:
		return "RDMA_READ";
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return "ATOMIC_CMP_AND_SWP";
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return "ATOMIC_FETCH_AND_ADD";
	case IBV_WR_SEND_WITH_INV:
		return "SEND_WITH_INV";
	default:
		return "OTHER";
	}
}

#define WR_FMT "qpn=0x%x wr=%llu id=0x%llx op=%s len=%llu"
#define WR_ARGS(wr)                                                                                \
	(wr)->qpn, (unsigned long long)(wr)->n, (unsigned long long)(wr)->wr_id,                   \
		op_name((wr)->opcode), (unsigned long long)(wr)->len

void trace_delay(struct trace *t, const struct trace_wr *wr, const char *way, uint64_t ns)
{
	if (t)
		put(t, "delay", wr->dev, WR_FMT " way=%s ns=%llu", WR_ARGS(wr), way,
		    (unsigned long long)ns);
}

void trace_fault(struct trace *t, const struct trace_wr *wr, const char *kind, const char *arg)
{
	if (t)
		put(t, "fault", wr->dev, WR_FMT " kind=%s arg=%s", WR_ARGS(wr), kind,
		    arg ? arg : "-");
}

void trace_call(struct trace *t, const char *dev, const char *call, uint64_t k, int err)
{
	if (t)
		put(t, "call", dev, "call=%s k=%llu errno=%d", call, (unsigned long long)k, err);
}

void trace_event(struct trace *t, const char *dev, int port, enum ibv_event_type type)
{
	const struct spec_name *n = spec_event_names;

	while (n->name && n->value != (int)type)
		n++;
	if (t)
		put(t, "event", dev, "port=%d type=%s", port, n->name ? n->name : "OTHER");
}

void trace_path(struct trace *t, const char *dev, const char *of, uint32_t qpn,
		const struct ibv_ah_attr *a)
{
	if (!t)
		return;
	put(t, "path", dev,
	    "of=%s qpn=0x%x port=%u dlid=%u sl=%u bits=%u grh=%u tclass=%u flow=0x%x hop=%u "
	    "sgid=%u", of, qpn, a->port_num, a->dlid, a->sl, a->src_path_bits, a->is_global,
	    a->grh.traffic_class, a->grh.flow_label, a->grh.hop_limit, a->grh.sgid_index);
}
