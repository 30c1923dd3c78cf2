/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Draws of planted delays. The generator is xoshiro256**, seeded through splitmix64. */
#include "dist.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "spec_parse.h"

static uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

/* Neighbouring seeds must not give similar streams, hence a mixing step for each word. */
void dist_seed(struct dist_state *st, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15u;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		st->s[i] = z ^ z >> 31;
	}
}

uint64_t dist_random(struct dist_state *st)
{
	uint64_t *s = st->s;
	uint64_t out = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return out;
}

double dist_unit(struct dist_state *st)
{
	return (double)(dist_random(st) >> 11) * 0x1p-53;
}

static uint64_t draw_step(const struct dist_term *t, uint64_t lap)
{
	uint64_t ns = 0;

	for (int i = 0; i < t->nsteps && t->step[i].lap <= lap; i++)
		ns = t->step[i].ns;
	return ns;
}

static uint64_t draw_term(const struct dist_term *t, struct dist_state *st, uint64_t lap)
{
	switch (t->kind) {
	case DIST_CONST:
		return t->a;
	case DIST_UNIFORM:
		return t->a + (uint64_t)(dist_unit(st) * ((double)(t->b - t->a) + 1));
	case DIST_EXP:
		/* 1 - u is never 0, so the logarithm is finite (at most 36.7 means). */
		return (uint64_t)(-log(1 - dist_unit(st)) * (double)t->a + 0.5);
	case DIST_PERIODIC:
		return lap % t->a < t->b ? t->extra : 0;
	case DIST_STEP:
		return draw_step(t, lap);
	case DIST_FILE:
		return t->nsamples ? t->sample[lap % t->nsamples] : 0;
	}
	return 0;
}

uint64_t dist_draw(const struct dist *d, struct dist_state *st, uint64_t lap)
{
	uint64_t ns = 0;

	for (int i = 0; i < d->n; i++)
		ns += draw_term(&d->term[i], st, lap);
	return ns;
}

/* One line: a time, or a bare number of nanoseconds; `#` starts a comment. 1: nothing in it. */
static int line_value(char *line, uint64_t *ns)
{
	struct spec_tok t = { .s = line, .n = 0, .pos = 0 };

	while (*t.s == ' ' || *t.s == '\t')
		t.s++;
	while (t.s[t.n] && t.s[t.n] != '#' && t.s[t.n] != '\n' && t.s[t.n] != '\r')
		t.n++;
	while (t.n && (t.s[t.n - 1] == ' ' || t.s[t.n - 1] == '\t'))
		t.n--;
	if (!t.n)
		return 1;
	return spec_time(t, true, ns);
}

static int grow(struct dist_term *t, size_t *room)
{
	size_t n = *room ? 2 * *room : 1024;
	uint64_t *p;

	if (t->nsamples < *room)
		return 0;
	p = realloc(t->sample, n * sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->sample = p;
	*room = n;
	return 0;
}

static int read_samples(struct dist_term *t, FILE *f, size_t *line)
{
	char buf[256];
	size_t room = 0;
	int rc;

	for (*line = 1; fgets(buf, sizeof(buf), f); ++*line) {
		rc = grow(t, &room);
		if (rc)
			return rc;
		rc = line_value(buf, &t->sample[t->nsamples]);
		if (rc < 0)
			return -EINVAL;
		t->nsamples += rc == 0;
	}
	if (ferror(f))
		return -EIO;
	*line = t->nsamples ? *line : 0;
	return t->nsamples ? 0 : -EINVAL;
}

int dist_open(struct dist *d, const char **path, size_t *line)
{
	for (int i = 0; i < d->n; i++) {
		struct dist_term *t = &d->term[i];
		FILE *f;
		int rc;

		if (t->kind != DIST_FILE || t->sample)
			continue;
		*path = t->path;
		*line = 0;
		f = fopen(t->path, "re");
		if (!f)
			return -errno;
		rc = read_samples(t, f, line);
		fclose(f);
		if (rc)
			return rc;
	}
	return 0;
}

void dist_close(struct dist *d)
{
	for (int i = 0; i < d->n; i++) {
		free(d->term[i].sample);
		d->term[i].sample = NULL;
		d->term[i].nsamples = 0;
	}
}
