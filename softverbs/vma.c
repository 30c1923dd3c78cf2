/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel knows of our address space: /proc/self/maps, read without stdio or malloc. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"

struct reader {
	int fd;
	size_t have, at;
	char buf[8192];
};

static bool next_line(struct reader *r, char *line, size_t size)
{
	size_t n = 0;

	for (;;) {
		if (r->at == r->have) {
			ssize_t got = read(r->fd, r->buf, sizeof(r->buf));

			if (got <= 0)
				return false;
			r->have = (size_t)got;
			r->at = 0;
		}
		if (r->buf[r->at] == '\n')
			break;
		if (n + 1 < size)
			line[n++] = r->buf[r->at];
		r->at++;
	}
	r->at++;
	line[n] = 0;
	return true;
}

/* start-end perms offset dev inode [path] */
static bool parse(const char *line, struct sv_vma *v)
{
	char *p;
	const char *perms;
	bool special;

	v->start = strtoull(line, &p, 16);
	if (*p != '-')
		return false;
	v->end = strtoull(p + 1, &p, 16);
	if (*p != ' ')
		return false;
	perms = p + 1;
	v->offset = strtoull(perms + 5, &p, 16);
	p = strchr(p + 1, ' ');
	if (!p)
		return false;
	v->inode = strtoull(p + 1, &p, 10);
	v->shared = perms[3] == 's';
	v->readable = perms[0] == 'r';
	v->writable = perms[1] == 'w';
	special = strchr(p, '[') && !strstr(p, "[heap]") && !strstr(p, "[anon:");
	v->anon = !strncmp(perms, "rw-p", 4) && !v->inode && !special;
	return true;
}

int sv_vmas(uint64_t start, uint64_t end, struct sv_vma *v, int max)
{
	struct reader r = { .fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC) };
	char line[256];
	int n = 0;

	if (r.fd < 0)
		return -1;
	while (n < max && next_line(&r, line, sizeof(line))) {
		struct sv_vma one;

		if (!parse(line, &one) || one.end <= start)
			continue;
		if (one.start >= end)
			break;
		v[n++] = one;
	}
	close(r.fd);
	return n;
}

bool sv_vma_of_pool(uint64_t inode, uint64_t from, uint64_t to)
{
	struct reader r = { .fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC) };
	char line[256];
	bool found = r.fd < 0;

	while (!found && next_line(&r, line, sizeof(line))) {
		struct sv_vma v;

		found = parse(line, &v) && v.shared && v.inode == inode &&
			v.start != (uintptr_t)sv_self->pool && v.offset < to &&
			v.offset + (v.end - v.start) > from;
	}
	if (r.fd >= 0)
		close(r.fd);
	return found;
}

/* Threads of the program, our helper left out. */
int sv_user_threads(void)
{
	struct stat st;

	if (stat("/proc/self/task", &st) || st.st_nlink < 3)
		return 2;
	return (int)st.st_nlink - 2 - (sv_me ? 1 : 0);
}
