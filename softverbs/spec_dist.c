/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of a delay: terms of a sum (see dist.h). */
#include <string.h>

#include "spec_parse.h"

#define TIME_FORM "a time such as 2us (ns, us, ms, s)"

static int get_time(struct spec_build *b, struct spec_tok t, uint64_t *ns)
{
	return spec_time(t, false, ns) ? spec_bad(b->err, t, TIME_FORM) : 0;
}

static int get_laps(struct spec_build *b, struct spec_tok t, uint64_t min, uint64_t max,
		    uint64_t *laps)
{
	if (!spec_number(t, min, max, laps))
		return 0;
	return spec_bad(b->err, t, "a number of laps, %llu to %llu", (unsigned long long)min,
			(unsigned long long)max);
}

/* Exactly n arguments by `,`; one too few or too many is shown where it is missed or stands. */
static int arguments(struct spec_build *b, struct spec_tok in, int n, const char *form,
		     struct spec_tok *arg)
{
	struct spec_tok end = spec_skip(in, in.n), item;
	int got = 0;

	while (spec_split(&in, ',', &item)) {
		if (got == n)
			return spec_bad(b->err, item, "%s", form);
		arg[got++] = item;
	}
	return got < n ? spec_bad(b->err, end, "%s", form) : 0;
}

static int parse_uniform(struct spec_build *b, struct spec_tok in, struct dist_term *t)
{
	struct spec_tok arg[2];

	t->kind = DIST_UNIFORM;
	if (arguments(b, in, 2, "uniform(LOW,HIGH)", arg) || get_time(b, arg[0], &t->a) ||
	    get_time(b, arg[1], &t->b))
		return -1;
	return t->b < t->a ? spec_bad(b->err, arg[1], "a HIGH that is not below LOW") : 0;
}

static int parse_exp(struct spec_build *b, struct spec_tok in, struct dist_term *t)
{
	struct spec_tok arg[1];

	t->kind = DIST_EXP;
	if (arguments(b, in, 1, "exp(MEAN)", arg))
		return -1;
	return get_time(b, arg[0], &t->a);
}

static int parse_periodic(struct spec_build *b, struct spec_tok in, struct dist_term *t)
{
	struct spec_tok arg[3];

	t->kind = DIST_PERIODIC;
	if (arguments(b, in, 3, "periodic(PERIOD,LEN,EXTRA), PERIOD and LEN in laps", arg) ||
	    get_laps(b, arg[0], 1, UINT32_MAX, &t->a) || get_laps(b, arg[1], 0, t->a, &t->b))
		return -1;
	return get_time(b, arg[2], &t->extra);
}

static int parse_steps(struct spec_build *b, struct spec_tok in, struct dist_term *t)
{
	struct spec_tok item, lap, ns;

	t->kind = DIST_STEP;
	while (spec_split(&in, '|', &item)) {
		struct dist_step *s = &t->step[t->nsteps];
		uint64_t min = t->nsteps ? s[-1].lap + 1 : 0;

		if (t->nsteps == DIST_STEPS)
			return spec_bad(b->err, item, "at most %d steps", DIST_STEPS);
		if (!spec_cut(item, ':', &lap, &ns))
			return spec_bad(b->err, item, "steps(LAP:DELAY|LAP:DELAY...)");
		if (get_laps(b, lap, min, UINT32_MAX, &s->lap) || get_time(b, ns, &s->ns))
			return -1;
		t->nsteps++;
	}
	return 0;
}

static int parse_file(struct spec_build *b, struct spec_tok path, struct dist_term *t)
{
	t->kind = DIST_FILE;
	if (!path.n || path.n >= sizeof(t->path))
		return spec_bad(b->err, path, "file:PATH, of 1 to %zu characters",
				sizeof(t->path) - 1);
	memcpy(t->path, path.s, path.n);
	return 0;
}

static int parse_term(struct spec_build *b, struct spec_tok v, struct dist_term *t)
{
	static const struct {
		const char *name;
		int (*parse)(struct spec_build *b, struct spec_tok in, struct dist_term *t);
	} forms[] = {
		{ "uniform(", parse_uniform },
		{ "exp(", parse_exp },
		{ "periodic(", parse_periodic },
		{ "steps(", parse_steps },
	};

	if (v.n >= 5 && !strncmp(v.s, "file:", 5))
		return parse_file(b, spec_skip(v, 5), t);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t n = strlen(forms[i].name);

		if (v.n > n && !strncmp(v.s, forms[i].name, n) && v.s[v.n - 1] == ')') {
			v.n--;
			return forms[i].parse(b, spec_skip(v, n), t);
		}
	}
	t->kind = DIST_CONST;
	if (!spec_time(v, false, &t->a))
		return 0;
	return spec_bad(b->err, v, TIME_FORM ", uniform(A,B), exp(M), periodic(PERIOD,LEN,EXTRA), "
			"steps(LAP:DELAY|...), file:PATH, and sums of these by +");
}

int spec_dist(struct spec_build *b, struct spec_tok v, struct dist *d)
{
	struct spec_tok item;

	while (spec_split(&v, '+', &item)) {
		if (d->n == DIST_TERMS)
			return spec_bad(b->err, item, "at most %d terms", DIST_TERMS);
		if (parse_term(b, item, &d->term[d->n]))
			return -1;
		d->n++;
	}
	return 0;
}
