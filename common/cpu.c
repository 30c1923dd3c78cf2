/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cpu.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysfs.h"

/* "3" or "2-5" up to @end; returns what follows or NULL. */
static const char *parse_range(const char *p, cpu_set_t *set)
{
	char *end;
	long lo, hi;

	if (*p < '0' || *p > '9')
		return NULL;
	lo = hi = strtol(p, &end, 10);
	if (*end == '-') {
		p = end + 1;
		if (*p < '0' || *p > '9')
			return NULL;
		hi = strtol(p, &end, 10);
	}
	if (hi < lo || hi >= CPU_SETSIZE)
		return NULL;
	for (; lo <= hi; lo++)
		CPU_SET(lo, set);
	return end;
}

static int parse_list(const char *text, char separator, cpu_set_t *set)
{
	CPU_ZERO(set);
	for (;;) {
		text = parse_range(text, set);
		if (!text)
			return -EINVAL;
		if (!*text)
			return 0;
		if (*text++ != separator)
			return -EINVAL;
	}
}

int cpu_list_parse(const char *text, cpu_set_t *set)
{
	CPU_ZERO(set);
	return *text ? parse_list(text, ',', set) : 0;
}

static int parse_side(const char *text, struct cpu_wish *wish)
{
	long node;
	char *end;

	memset(wish, 0, sizeof(*wish));
	if (!strcmp(text, "auto") || !strcmp(text, "none")) {
		wish->kind = *text == 'a' ? CPU_AUTO : CPU_NONE;
		return 0;
	}
	if (!strncmp(text, "node", 4) && text[4] >= '0' && text[4] <= '9') {
		wish->kind = CPU_NODE;
		node = strtol(text + 4, &end, 10);
		wish->node = node <= 4095 ? (int)node : -1;
		return *end || wish->node < 0 ? -EINVAL : 0;
	}
	wish->kind = CPU_LIST;
	return parse_list(text, '+', &wish->list);
}

int cpu_wish_parse(const char *text, int side, struct cpu_wish *wish)
{
	const char *comma = strchr(text, ',');
	char item[256];
	size_t len;

	if (comma && strchr(comma + 1, ','))
		return -EINVAL;
	if (comma && side == 1)
		text = comma + 1;
	len = comma && side == 0 ? (size_t)(comma - text) : strlen(text);
	if (len >= sizeof(item))
		return -EINVAL;
	memcpy(item, text, len);
	item[len] = '\0';
	return parse_side(item, wish);
}

static void read_list(const char *root, const char *path, cpu_set_t *set)
{
	char line[1024];

	CPU_ZERO(set);
	if (sysfs_read_line(root, path, line, sizeof(line)))
		cpu_list_parse(line, set);
}

/* CPUs that take an interrupt of the device. */
static void read_interrupts(const char *root, const char *device, cpu_set_t *set)
{
	char path[512], line[1024];
	struct dirent *e;
	cpu_set_t one;
	DIR *d;

	CPU_ZERO(set);
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/device/msi_irqs", root, device);
	d = opendir(path);
	if (!d)
		return;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "irq/%.32s/effective_affinity_list", e->d_name);
		if (procfs_read_line(root, path, line, sizeof(line)) && !cpu_list_parse(line, &one))
			CPU_OR(set, set, &one);
	}
	closedir(d);
}

void cpu_read_facts(const char *root, const char *device, const struct cpu_wish *wish,
		    int taken_cpu, struct cpu_facts *f)
{
	char path[128];
	long node = -1;

	memset(f, 0, sizeof(*f));
	sched_getaffinity(0, sizeof(f->allowed), &f->allowed);
	if (wish->kind == CPU_NODE) {
		node = wish->node;
	} else if (device) {
		snprintf(path, sizeof(path), "class/infiniband/%.64s/device/numa_node", device);
		node = sysfs_read_int(root, path, -1);
		read_interrupts(root, device, &f->interrupts);
	}
	if (node >= 0) {
		snprintf(path, sizeof(path), "devices/system/node/node%ld/cpulist", node);
		read_list(root, path, &f->near);
	}
	f->taken_cpu = taken_cpu;
	if (taken_cpu < 0 || taken_cpu >= CPU_SETSIZE)
		return;
	snprintf(path, sizeof(path), "devices/system/cpu/cpu%d/topology/thread_siblings_list",
		 taken_cpu);
	read_list(root, path, &f->taken);
	CPU_SET(taken_cpu, &f->taken);
}

static void remove_set(cpu_set_t *from, const cpu_set_t *what)
{
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, what))
			CPU_CLR(i, from);
}

static int last_of(const cpu_set_t *set)
{
	for (int i = CPU_SETSIZE - 1; i >= 0; i--)
		if (CPU_ISSET(i, set))
			return i;
	return -1;
}

/* What is left of @allowed under the first @conditions of near, interrupts, taken. */
static cpu_set_t narrowed(const struct cpu_facts *f, bool near, bool interrupts, bool siblings)
{
	cpu_set_t set = f->allowed;

	if (near)
		CPU_AND(&set, &set, &f->near);
	if (interrupts)
		remove_set(&set, &f->interrupts);
	if (siblings)
		remove_set(&set, &f->taken);
	else if (f->taken_cpu >= 0)
		CPU_CLR(f->taken_cpu, &set);
	return set;
}

/* High numbers first: CPU 0 has the timers and most of the housekeeping. */
static void choose_auto(const struct cpu_facts *f, struct cpu_choice *c)
{
	static const bool tries[][3] = { { 1, 1, 1 }, { 1, 1, 0 }, { 1, 0, 1 }, { 1, 0, 0 },
					 { 0, 1, 1 }, { 0, 1, 0 }, { 0, 0, 1 }, { 0, 0, 0 } };

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]) && c->cpu < 0; i++) {
		cpu_set_t set = narrowed(f, tries[i][0], tries[i][1], tries[i][2]);

		c->cpu = last_of(&set);
	}
	if (c->cpu < 0) {
		c->cpu = last_of(&f->allowed);
		c->shared = c->cpu >= 0;
	}
	CPU_ZERO(&c->set);
	if (c->cpu >= 0)
		CPU_SET(c->cpu, &c->set);
}

int cpu_choose(const struct cpu_wish *wish, const struct cpu_facts *f, struct cpu_choice *c)
{
	memset(c, 0, sizeof(*c));
	c->cpu = -1;
	if (wish->kind == CPU_AUTO) {
		choose_auto(f, c);
		return c->cpu < 0 ? -1 : 0;
	}
	if (wish->kind == CPU_NONE) {
		c->shared = CPU_COUNT(&f->allowed) == 1 && f->taken_cpu >= 0;
		return 0;
	}
	c->set = wish->kind == CPU_LIST ? wish->list : f->near;
	CPU_AND(&c->set, &c->set, &f->allowed);
	if (CPU_COUNT(&c->set) == 0)
		return -1;
	if (CPU_COUNT(&c->set) == 1) {
		c->cpu = last_of(&c->set);
		c->shared = c->cpu == f->taken_cpu;
	}
	return 0;
}

int cpu_bind(const struct cpu_choice *c, struct error *err)
{
	if (CPU_COUNT(&c->set) == 0)
		return 0;
	if (sched_setaffinity(0, sizeof(c->set), &c->set))
		return error_set(err, EXIT_FAILED, errno, "binding to CPU %d", c->cpu);
	return 0;
}

int cpu_node_of(const char *root, int cpu)
{
	char path[128];

	if (cpu < 0)
		return -1;
	for (int node = 0; node < 64; node++) {
		snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%d/node%d", root, cpu,
			 node);
		DIR *d = opendir(path);

		if (d) {
			closedir(d);
			return node;
		}
	}
	return -1;
}

void cpu_boot_id(const char *root, char out[CPU_BOOT_ID])
{
	if (!procfs_read_line(root, "sys/kernel/random/boot_id", out, CPU_BOOT_ID))
		out[0] = '\0';
}
