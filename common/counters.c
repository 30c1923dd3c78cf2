/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "counters.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadline.h"
#include "sysfs.h"

#define COUNTERS_MAX 4096                /* that are taken from a peer */
#define LIFESPAN_MAX_MS 1000             /* it can be set to anything */
#define TICKS_NS (2 * 10 * NS_PER_MS)    /* the kernel rounds a lifespan up, at 100 Hz at worst */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct counter *)a)->name, ((const struct counter *)b)->name);
}

static struct counter *find(const struct counters *c, size_t count, const char *name)
{
	struct counter key;

	snprintf(key.name, sizeof(key.name), "%s", name);
	return count ? bsearch(&key, c->v, count, sizeof(key), by_name) : NULL;
}

/* A folder that is being read; those before it are sorted. */
struct folder {
	struct counters *c;
	const char *root, *path;
	size_t sorted;
};

/* "N/A (no PMA)" is no number, nor is what cannot be read at the moment. */
static bool read_value(const struct folder *f, const char *name, uint64_t *value)
{
	char path[512], line[64], *end;

	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	if (!sysfs_read_line(f->root, path, line, sizeof(line)) || *line < '0' || *line > '9')
		return false;
	errno = 0;
	*value = strtoull(line, &end, 10);
	return !errno && *end == '\0';
}

static bool add(void *arg, const char *name)
{
	struct folder *f = arg;
	struct counters *c = f->c;
	struct counter *v;
	uint64_t value;

	if (strlen(name) >= COUNTER_NAME_MAX || !read_value(f, name, &value))
		return true;
	if (!strcmp(name, "lifespan")) {
		value = (value < LIFESPAN_MAX_MS ? value : LIFESPAN_MAX_MS) * NS_PER_MS;
		if (value > c->lifespan_ns)
			c->lifespan_ns = value;
		return true;
	}
	/* Where port and device count under one name, the port's stands. */
	if (find(c, f->sorted, name))
		return true;
	v = realloc(c->v, (c->count + 1) * sizeof(*v));
	if (!v)
		return false;
	c->v = v;
	v += c->count++;
	snprintf(v->name, sizeof(v->name), "%s", name);
	v->value = value;
	return true;
}

static void add_folder(struct counters *c, const char *root, const char *path)
{
	struct folder f = { c, root, path, c->count };

	sysfs_entries(root, path, add, &f);
	if (c->count)
		qsort(c->v, c->count, sizeof(*c->v), by_name);
}

void counters_read(struct counters *c, const char *root, const char *device, unsigned int port)
{
	static const char *const folders[] = { "counters", "hw_counters" };
	char path[256];

	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "class/infiniband/%s/ports/%u/%s", device, port,
			 folders[i]);
		add_folder(c, root, path);
	}
	snprintf(path, sizeof(path), "class/infiniband/%s/hw_counters", device);
	add_folder(c, root, path);
}

void counters_free(struct counters *c)
{
	free(c->v);
	memset(c, 0, sizeof(*c));
}

void counters_wait(const struct counters *c)
{
	uint64_t end = now_ns() + c->lifespan_ns + TICKS_NS;

	if (!c->lifespan_ns)
		return;
	for (uint64_t now; (now = now_ns()) < end;) {
		struct timespec t = { (time_t)((end - now) / NS_PER_S),
				      (long)((end - now) % NS_PER_S) };

		nanosleep(&t, NULL);
	}
}

static json_t *difference(const struct counter *before, const struct counter *after)
{
	uint64_t d;

	if (!before || !after || after->value < before->value)
		return json_null();
	d = after->value - before->value;
	return d <= INT64_MAX ? json_integer((json_int_t)d) : json_null();
}

json_t *counters_difference(const struct counters *before, const struct counters *after)
{
	json_t *o = json_object();
	size_t i = 0, k = 0;

	while (i < before->count || k < after->count) {
		const struct counter *b = i < before->count ? &before->v[i] : NULL;
		const struct counter *a = k < after->count ? &after->v[k] : NULL;
		int order = !a ? -1 : !b ? 1 : strcmp(b->name, a->name);

		i += order <= 0;
		k += order >= 0;
		json_object_set_new(o, order <= 0 ? b->name : a->name,
				    order ? json_null() : difference(b, a));
	}
	if (json_object_size(o))
		return o;
	json_decref(o);
	return NULL;
}

json_t *counters_from_peer(json_t *v)
{
	const char *name;
	json_t *value;

	if (!json_object_size(v) || json_object_size(v) > COUNTERS_MAX)
		return NULL;
	json_object_foreach(v, name, value)
		if (!json_is_null(value) && !(json_is_integer(value) && json_integer_value(value) >= 0))
			return NULL;
	return json_incref(v);
}
