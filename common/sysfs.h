/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Small reads below /sys and /proc. @root is put in front: "" is the real one. */
#ifndef COMMON_SYSFS_H
#define COMMON_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

/* First line of ROOT/sys/PATH without its newline; false when it cannot be read. */
bool sysfs_read_line(const char *root, const char *path, char *out, size_t cap);
/* A decimal number, or @fallback. */
long sysfs_read_int(const char *root, const char *path, long fallback);
/* Calls @each with every entry of a folder, in no order, until it gives false. */
void sysfs_entries(const char *root, const char *path, bool (*each)(void *arg, const char *name),
		   void *arg);
/* Some entry of a folder; false when there is none. */
bool sysfs_first_entry(const char *root, const char *path, char *out, size_t cap);
/* First line of ROOT/proc/PATH. */
bool procfs_read_line(const char *root, const char *path, char *out, size_t cap);

#endif
