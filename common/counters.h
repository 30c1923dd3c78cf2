/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a device and a port of it count, from sysfs: ports/N/counters (IBTA vol. 1, 16.1.3.5),
 * ports/N/hw_counters and hw_counters of the device; what they counted between two reads.
 */
#ifndef COMMON_COUNTERS_H
#define COMMON_COUNTERS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTER_NAME_MAX 64

struct counter {
	char name[COUNTER_NAME_MAX];
	uint64_t value;
};

/* By name. All zero: none. */
struct counters {
	struct counter *v;
	size_t count;
	uint64_t lifespan_ns; /* so long the driver answers with what it read last; 0: never */
};

/* Reads below @root ("" for the real /sys). Where there are none, or no memory: none. */
void counters_read(struct counters *c, const char *root, const char *device, unsigned int port);
void counters_free(struct counters *c);
/* Sleeps until a read gives what was counted up to now. */
void counters_wait(const struct counters *c);

/*
 * {name: difference}, in the order of names. null for a counter that is smaller than before (it
 * wrapped or was reset) or that only one of the reads has. NULL when there are no counters.
 */
json_t *counters_difference(const struct counters *before, const struct counters *after);
/* The same from a peer: a new reference, or NULL when it has none or makes no sense. */
json_t *counters_from_peer(json_t *v);

/* counter_names.c: what it means that a counter of this name has moved; NULL: no error has. Pure. */
const char *counter_error(const char *name);

#endif
