/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files of their own for the tests of dumps and listings. */
#ifndef TESTS_DUMPS_H
#define TESTS_DUMPS_H

#include <dirent.h>
#include <fcntl.h>

#include "dump.h"
#include "unit.h"

/* A directory that is removed with its files at the end. */
static inline void dir_open(char dir[32])
{
	strcpy(dir, "/tmp/verbsperf-XXXXXX");
	assert_non_null(mkdtemp(dir));
}

static inline int dir_files(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static inline void dir_close(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(dir);
}

static inline json_t *dump_facts(void)
{
	return json_pack("{s:s,s:s,s:i,s:s,s:{s:i},s:{s:s,s:{s:s,s:f}},s:{s:s,s:{s:s,s:f}}}",
			 "program", "rdma_lat", "version", "0.1.0", "protocol", 1, "time",
			 "2026-01-31T12:00:00Z", "settings", "tx_depth", 16, "client", "host", "a",
			 "clock", "source", "tsc", "hz", 2.5e9, "server", "host", "b", "clock",
			 "source", "tsc", "hz", 3e9);
}

/* An unlinked file with these bytes. */
static inline int file_with(const void *bytes, size_t n)
{
	char name[] = "/tmp/verbsperf-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	return fd;
}

#endif
