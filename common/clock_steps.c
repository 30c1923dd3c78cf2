/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "clock_steps.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>

static int cpu_next(const cpu_set_t *set, int after)
{
	for (int cpu = after + 1; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set))
			return cpu;
	return -1;
}

int clock_steps_one_core(enum clock_source source, uint64_t reads, struct clock_steps *s,
			 struct error *err)
{
	cpu_set_t allowed, one;
	uint64_t before, now;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return error_set(err, EXIT_FAILED, errno, "asking for the allowed CPUs");
	*s = (struct clock_steps){ .cpu = cpu_next(&allowed, -1), .peer = -1 };
	CPU_ZERO(&one);
	CPU_SET(s->cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return error_set(err, EXIT_FAILED, errno, "binding to CPU %d", s->cpu);
	before = cycles_read(source);
	for (; s->reads < reads; s->reads++, before = now) {
		now = cycles_read(source);
		clock_steps_look(s, before, now);
	}
	if (sched_setaffinity(0, sizeof(allowed), &allowed))
		return error_set(err, EXIT_FAILED, errno, "unbinding from CPU %d", s->cpu);
	return 0;
}

#define IDLE_MAX   10000 /* looks at the line without fruit */
#define LOOK_EVERY 1024	 /* hand-overs between looks at the cap */

/* The line that goes back and forth, and a line apart what is read only. */
struct relay {
	alignas(64) uint64_t turn; /* even: the first side's */
	uint64_t stamp;
	alignas(64) uint64_t limit, cap_ns;
	enum clock_source source;
};

struct relay_side {
	struct relay *relay;
	uint64_t parity;
	struct clock_steps steps;
};

/* One end gives up for both: a turn beyond the limit is the end. */
static void *relay_run(void *arg)
{
	struct relay_side *side = arg;
	struct relay *r = side->relay;
	unsigned int idle = 0;

	for (;;) {
		uint64_t turn = __atomic_load_n(&r->turn, __ATOMIC_ACQUIRE), now;

		if (turn >= r->limit)
			return NULL;
		if (turn % 2 != side->parity) {
			if (++idle % IDLE_MAX == 0)
				sched_yield(); /* the other side has lost its CPU */
			continue;
		}
		idle = 0;
		now = cycles_read(r->source);
		clock_steps_look(&side->steps, r->stamp, now);
		side->steps.reads++;
		r->stamp = now;
		turn = turn % LOOK_EVERY == 0 && cycles_gettime() > r->cap_ns ? r->limit : turn + 1;
		__atomic_store_n(&r->turn, turn, __ATOMIC_RELEASE);
	}
}

static int relay_start(pthread_t *thread, struct relay_side *side, int cpu)
{
	pthread_attr_t attr;
	cpu_set_t one;
	int rc;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	rc = pthread_attr_init(&attr);
	if (rc)
		return rc;
	rc = pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
	if (!rc)
		rc = pthread_create(thread, &attr, relay_run, side);
	pthread_attr_destroy(&attr);
	return rc;
}

static int pair_relay(struct relay *relay, int cpu, int peer, struct clock_steps *sum)
{
	struct relay_side side[2] = { { .relay = relay }, { .relay = relay, .parity = 1 } };
	pthread_t thread[2];
	int rc = relay_start(&thread[0], &side[0], cpu);

	if (rc)
		return rc;
	rc = relay_start(&thread[1], &side[1], peer);
	if (rc) /* the first one leaves when the turn is beyond the limit */
		__atomic_store_n(&relay->turn, relay->limit, __ATOMIC_RELEASE);
	else
		pthread_join(thread[1], NULL);
	pthread_join(thread[0], NULL);
	for (int i = 0; i < 2; i++) {
		const struct clock_steps *s = &side[i].steps;

		if (s->largest > sum->largest) {
			sum->largest = s->largest;
			sum->cpu = i ? peer : cpu;
			sum->peer = i ? cpu : peer;
		}
		sum->reads += s->reads;
		sum->backwards += s->backwards;
	}
	return rc;
}

int clock_steps_across(enum clock_source source, uint64_t reads, uint64_t cap_ns,
		       struct clock_steps *s, struct error *err)
{
	unsigned int pairs;
	cpu_set_t allowed;
	int first, rc;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return error_set(err, EXIT_FAILED, errno, "asking for the allowed CPUs");
	pairs = (unsigned int)CPU_COUNT(&allowed) - 1;
	first = cpu_next(&allowed, -1);
	*s = (struct clock_steps){ .cpu = first, .peer = cpu_next(&allowed, first) };
	for (int cpu = s->peer; cpu >= 0; cpu = cpu_next(&allowed, cpu)) {
		struct relay relay = {
			.limit = reads / pairs,
			.cap_ns = cycles_gettime() + cap_ns / pairs,
			.source = source,
		};

		rc = pair_relay(&relay, first, cpu, s);
		if (rc)
			return error_set(err, EXIT_FAILED, rc, "a thread on each of CPU %d and %d",
					 first, cpu);
		s->pairs++;
	}
	return 0;
}
