/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The trace files, under one lock. What is written for each work request is put together by hand:
 * a delay shorter than the writing of its line would take effect late. So does a flush, hence the
 * large buffer. Effects are kept as they are until the next line, which a post writes while its
 * own delay runs: whoever waits for the completion has no time for them.
 */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spec_parse.h"
#include "work.h"

#define LINE 512
#define LATER 32

struct effect {
	struct trace_wr wr;
	uint64_t at, post, due;
};

struct trace {
	struct trace *next;
	char *path;
	int users, fd;
	bool inherited;	/* a forked child's: the parent's file, and what it had buffered */
	unsigned int nlater;
	struct effect later[LATER];
	size_t n;
	char buf[1 << 20];
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

static void own(struct trace *t)
{
	if (!t->inherited)
		return;
	close(t->fd);
	t->n = t->nlater = 0;
	t->inherited = false;
	t->fd = open_file(t->path);
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

/* A line in the making; its texts are cut to what leaves room for the longest. */
struct line {
	char s[LINE];
	size_t n;
};

static void add_text(struct line *l, const char *key, const char *text)
{
	size_t k = strlen(key), n = strnlen(text, 64);

	memcpy(l->s + l->n, key, k);
	memcpy(l->s + l->n + k, text, n);
	l->n += k + n;
}

static void add_number(struct line *l, const char *key, uint64_t v, unsigned int base)
{
	char digits[24];
	int i = sizeof(digits);

	digits[--i] = 0;
	do
		digits[--i] = "0123456789abcdef"[v % base];
	while (v /= base);
	add_text(l, key, digits + i);
}

/* What the records of a work request have in common. */
static void begin(struct line *l, const char *record, uint64_t t, const struct trace_wr *wr)
{
	l->n = 0;
	add_number(l, record, t, 10);
	add_text(l, " dev=", wr->dev);
	add_number(l, " qpn=0x", wr->qpn, 16);
	add_number(l, " wr=", wr->n, 10);
	add_number(l, " id=0x", wr->wr_id, 16);
	add_text(l, " op=", op_name(wr->opcode));
	add_number(l, " len=", wr->len, 10);
}

static void put_in(struct trace *t, const char *line, size_t n)
{
	if (t->n + n > sizeof(t->buf))
		flush(t);
	memcpy(t->buf + t->n, line, n);
	t->n += n;
}

static void put_later(struct trace *t)
{
	for (unsigned int i = 0; i < t->nlater; i++) {
		const struct effect *e = &t->later[i];
		struct line l;

		begin(&l, "effect t=", e->at, &e->wr);
		add_number(&l, " post=", e->post, 10);
		add_number(&l, " due=", e->due, 10);
		add_number(&l, " late=", e->at > e->due ? e->at - e->due : 0, 10);
		l.s[l.n++] = '\n';
		put_in(t, l.s, l.n);
	}
	t->nlater = 0;
}

/* A whole line. */
static void append(struct trace *t, const char *line, size_t n)
{
	pthread_mutex_lock(&lock);
	own(t);
	put_later(t);
	put_in(t, line, n);
	pthread_mutex_unlock(&lock);
}

static void flush_whole(struct trace *t)
{
	own(t);
	put_later(t);
	flush(t);
}

void trace_flush_all(void)
{
	pthread_mutex_lock(&lock);
	for (struct trace *t = traces; t; t = t->next)
		flush_whole(t);
	pthread_mutex_unlock(&lock);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	for (struct trace *t = traces; t; t = t->next)
		t->inherited = true;
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
		pthread_atfork(before_fork, in_parent, in_child);
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
		flush_whole(t);
		while (*at != t)
			at = &(*at)->next;
		*at = t->next;
		close(t->fd);
		free(t->path);
		free(t);
	}
	pthread_mutex_unlock(&lock);
}

/* One line: the record, the time, then fmt. */
__attribute__((format(printf, 4, 5)))
static void put(struct trace *t, const char *record, const char *dev, const char *fmt, ...)
{
	char line[LINE];
	va_list ap;
	int n;

	n = snprintf(line, sizeof(line), "%s t=%llu dev=%s ", record,
		     (unsigned long long)sv_now(), dev);
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	if ((size_t)n >= sizeof(line) - 1)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	append(t, line, (size_t)n);
}

static void end(struct trace *t, struct line *l)
{
	l->s[l->n++] = '\n';
	append(t, l->s, l->n);
}

void trace_delay(struct trace *t, const struct trace_wr *wr, const char *way, uint64_t ns)
{
	struct line l;

	if (!t)
		return;
	begin(&l, "delay t=", sv_now(), wr);
	add_text(&l, " way=", way);
	add_number(&l, " ns=", ns, 10);
	end(t, &l);
}

void trace_effect(struct trace *t, const struct trace_wr *wr, uint64_t at, uint64_t post,
		  uint64_t due)
{
	if (!t)
		return;
	pthread_mutex_lock(&lock);
	own(t);
	if (t->nlater == LATER)
		put_later(t);
	t->later[t->nlater++] = (struct effect){ *wr, at, post, due };
	pthread_mutex_unlock(&lock);
}

void trace_fault(struct trace *t, const struct trace_wr *wr, const char *kind, const char *arg)
{
	struct line l;

	if (!t)
		return;
	begin(&l, "fault t=", sv_now(), wr);
	add_text(&l, " kind=", kind);
	add_text(&l, " arg=", arg ? arg : "-");
	end(t, &l);
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
