/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "worst.h"

#include <stdlib.h>

void worst_init(struct worst *w)
{
	w->count = 0;
	w->floor = 0;
}

static void sift_up(struct worst *w, unsigned int i, struct worst_sample s)
{
	for (; i && w->v[(i - 1) / 2].value > s.value; i = (i - 1) / 2)
		w->v[i] = w->v[(i - 1) / 2];
	w->v[i] = s;
}

/* Puts @s in the place of the smallest. */
static void sift_down(struct worst *w, struct worst_sample s)
{
	unsigned int i = 0;

	for (;;) {
		unsigned int child = 2 * i + 1;

		if (child + 1 < w->count && w->v[child + 1].value < w->v[child].value)
			child++;
		if (child >= w->count || w->v[child].value >= s.value)
			break;
		w->v[i] = w->v[child];
		i = child;
	}
	w->v[i] = s;
}

void worst_insert(struct worst *w, uint64_t value, uint64_t lap, uint64_t at)
{
	struct worst_sample s = { value, lap, at };

	if (w->count < WORST_MAX)
		sift_up(w, w->count++, s);
	else
		sift_down(w, s);
	if (w->count == WORST_MAX)
		w->floor = w->v[0].value;
}

static int larger_first(const void *a, const void *b)
{
	const struct worst_sample *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->lap < y->lap ? -1 : x->lap > y->lap;
}

void worst_sort(struct worst *w)
{
	qsort(w->v, w->count, sizeof(w->v[0]), larger_first);
}
