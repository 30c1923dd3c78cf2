/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which samples are hiccups. Where they happened: hiccup_place.c. */
#include "hiccups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

uint64_t hiccups_limit(double median, double deviation, double k)
{
	double limit = median + k * fmax(deviation, median / 1000);

	return limit < 9e18 ? (uint64_t)limit : (uint64_t)9e18;
}

int hiccups_open(struct hiccups *h, uint64_t limit, size_t cap)
{
	*h = (struct hiccups){ .limit = limit, .cap = cap };
	h->kept = malloc(cap * sizeof(*h->kept));
	return h->kept ? 0 : -ENOMEM;
}

void hiccups_close(struct hiccups *h)
{
	free(h->kept);
	*h = (struct hiccups){ .cap = 0 };
}

/* Of two that are equal the later one goes first. */
static bool less(const struct hiccup *a, const struct hiccup *b)
{
	return a->value != b->value ? a->value < b->value : a->lap > b->lap;
}

static void swap(struct hiccup *a, struct hiccup *b)
{
	struct hiccup t = *a;

	*a = *b;
	*b = t;
}

static void sift_up(struct hiccup *heap, size_t i)
{
	for (; i && less(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&heap[i], &heap[(i - 1) / 2]);
}

static void sift_down(struct hiccup *heap, size_t n)
{
	size_t i = 0, child;

	while ((child = 2 * i + 1) < n) {
		child += child + 1 < n && less(&heap[child + 1], &heap[child]);
		if (!less(&heap[child], &heap[i]))
			return;
		swap(&heap[child], &heap[i]);
		i = child;
	}
}

static void keep(struct hiccups *h, uint64_t lap, uint64_t value)
{
	struct hiccup one = { .lap = lap, .value = value };

	if (h->n < h->cap) {
		h->kept[h->n] = one;
		sift_up(h->kept, h->n++);
	} else if (h->n && less(&h->kept[0], &one)) {
		h->kept[0] = one;
		sift_down(h->kept, h->n);
	}
}

void hiccups_add(struct hiccups *h, uint64_t first, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i] <= h->limit)
			continue;
		h->count++;
		keep(h, first + i, v[i]);
	}
}

static int by_lap(const void *a, const void *b)
{
	const struct hiccup *x = a, *y = b;

	return (x->lap > y->lap) - (x->lap < y->lap);
}

void hiccups_sort(struct hiccups *h)
{
	qsort(h->kept, h->n, sizeof(*h->kept), by_lap);
}
