/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events that are planted by time: when the device was opened, or so long after. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "event.h"
#include "fault.h"

struct later {
	struct sv_ctx *c;
	const struct spec_event *e;
};

static void raise_now(struct sv_ctx *c, const struct spec_event *e)
{
	trace_event(c->dev->trace, c->dev->ibv.name, e->port, e->type);
	sv_event_raise(sv_self, c->off, e->type, SV_OF_PORT, e->port, 0);
}

static void *sleeper(void *arg)
{
	struct later *l = arg;
	struct timespec ts = { .tv_sec = (time_t)(l->e->ns / 1000000000u),
			       .tv_nsec = (long)(l->e->ns % 1000000000u) };

	nanosleep(&ts, NULL);
	raise_now(l->c, l->e);
	free(l);
	return NULL;
}

void sv_fault_opened(struct sv_ctx *c)
{
	const struct spec_faults *f = &c->dev->spec->fault;

	for (int i = 0; i < f->nevent; i++) {
		const struct spec_event *e = &f->event[i];
		struct later *l;
		pthread_t t;

		if (!e->timed && !e->n) {
			raise_now(c, e);
			continue;
		}
		l = e->timed ? malloc(sizeof(*l)) : NULL;
		if (!l)
			continue;
		*l = (struct later){ c, e };
		if (pthread_create(&t, NULL, sleeper, l))
			free(l);
		else
			pthread_detach(t);
	}
}
