/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A small tree of files in a temporary folder, to stand for /sys and /proc. */
#ifndef TESTS_TREE_H
#define TESTS_TREE_H

#include <ftw.h>
#include <sys/stat.h>

#include "unit.h"

#define TREE_ROOT 64

static inline void tree_open(char root[TREE_ROOT])
{
	const char *tmp = getenv("TMPDIR");

	snprintf(root, TREE_ROOT, "%.40s/unit-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(root));
}

static inline int tree_remove_one(const char *path, const struct stat *st, int flag,
				  struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void tree_close(const char *root)
{
	assert_int_equal(nftw(root, tree_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* ROOT/PATH with its folders; @text NULL makes a folder. */
static inline void tree_file(const char *root, const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(full, 0755);
	}
	if (!text) {
		mkdir(full, 0755);
		return;
	}
	f = fopen(full, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

#endif
