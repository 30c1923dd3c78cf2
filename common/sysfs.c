/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "sysfs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 512

static bool read_line(const char *path, char *out, size_t cap)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(out, (int)cap, f);

	if (f)
		fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = '\0';
	return ok;
}

bool sysfs_read_line(const char *root, const char *path, char *out, size_t cap)
{
	char full[PATH_SIZE];

	snprintf(full, sizeof(full), "%s/sys/%s", root, path);
	return read_line(full, out, cap);
}

bool procfs_read_line(const char *root, const char *path, char *out, size_t cap)
{
	char full[PATH_SIZE];

	snprintf(full, sizeof(full), "%s/proc/%s", root, path);
	return read_line(full, out, cap);
}

long sysfs_read_int(const char *root, const char *path, long fallback)
{
	char line[64], *end;
	long v;

	if (!sysfs_read_line(root, path, line, sizeof(line)))
		return fallback;
	v = strtol(line, &end, 10);
	return end != line ? v : fallback;
}

void sysfs_entries(const char *root, const char *path, bool (*each)(void *arg, const char *name),
		   void *arg)
{
	char full[PATH_SIZE];
	bool more = true;
	struct dirent *e;
	DIR *d;

	snprintf(full, sizeof(full), "%s/sys/%s", root, path);
	d = opendir(full);
	if (!d)
		return;
	while (more && (e = readdir(d)))
		if (e->d_name[0] != '.')
			more = each(arg, e->d_name);
	closedir(d);
}

struct first {
	char *out;
	size_t cap;
	bool found;
};

static bool take_first(void *arg, const char *name)
{
	struct first *f = arg;

	snprintf(f->out, f->cap, "%s", name);
	f->found = true;
	return false;
}

bool sysfs_first_entry(const char *root, const char *path, char *out, size_t cap)
{
	struct first f = { out, cap, false };

	sysfs_entries(root, path, take_first, &f);
	return f.found;
}
