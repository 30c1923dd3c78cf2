/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fault keys of a SPEC: lists of faults, each with the place where it strikes. */
#include "spec_parse.h"

/* One item of a list, cut at its last part: `WHAT@N`. The error names the whole form. */
static int at_number(struct spec_build *b, struct spec_tok item, const char *form,
		     struct spec_tok *what, uint64_t *n)
{
	struct spec_tok num;

	if (!spec_cut(item, '@', what, &num))
		return spec_bad(b->err, item, "%s", form);
	if (spec_number(num, 1, UINT64_MAX, n))
		return spec_bad(b->err, num, "a number from 1, as in %s", form);
	return 0;
}

static int full(struct spec_build *b, struct spec_tok item, int n)
{
	return n == SPEC_LIST ? spec_bad(b->err, item, "at most %d in a list", SPEC_LIST) : 0;
}

int spec_set_chance(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	struct spec_chances *c = (void *)((char *)b->dev + k->off);
	struct spec_tok item, what, num;

	while (spec_split(&v, '|', &item)) {
		struct spec_chance *at = &c->at[c->n];

		if (full(b, item, c->n))
			return -1;
		if (!spec_cut(item, '@', &what, &num)) {
			if (spec_decimal(item, &at->p) || at->p > 1)
				return spec_bad(b->err, item, "a probability, 0 to 1, or N@K: N "
						"messages from the K-th on");
		} else if (spec_number(what, 1, UINT64_MAX, &at->count)) {
			return spec_bad(b->err, what, "a number of messages, as in N@K");
		} else if (at_number(b, item, "N@K", &what, &at->first)) {
			return -1;
		}
		c->n++;
	}
	return 0;
}

int spec_set_flip(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	struct spec_faults *f = &b->dev->fault;
	struct spec_tok item, n, offset;

	(void)k;
	while (spec_split(&v, '|', &item)) {
		struct spec_flip *at = &f->flip[f->nflip];

		if (full(b, item, f->nflip))
			return -1;
		if (!spec_cut(item, '@', &n, &offset))
			return spec_bad(b->err, item, "MESSAGE@OFFSET");
		if (spec_number(n, 1, UINT64_MAX, &at->n))
			return spec_bad(b->err, n, "the number of a message, from 1");
		if (spec_number(offset, 0, UINT32_MAX, &at->offset))
			return spec_bad(b->err, offset, "an offset in bytes");
		f->nflip++;
	}
	return 0;
}

int spec_set_err(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	struct spec_faults *f = &b->dev->fault;
	struct spec_tok item, what;
	char names[512];

	(void)k;
	while (spec_split(&v, '|', &item)) {
		struct spec_err *at = &f->err[f->nerr];
		int status;

		if (full(b, item, f->nerr) || at_number(b, item, "STATUS@N", &what, &at->n))
			return -1;
		status = spec_lookup(spec_wc_names, "IBV_WC_", what);
		if (status < 0)
			return spec_bad(b->err, what, "%s",
					spec_names(spec_wc_names, names, sizeof(names)));
		at->status = (enum ibv_wc_status)status;
		f->nerr++;
	}
	return 0;
}

/* The errno behind the colon, by name or number; without one it is ENOMEM. */
static int fail_errno(struct spec_build *b, struct spec_tok t, int *err)
{
	char names[512];
	uint64_t n;

	*err = spec_lookup(spec_errno_names, "", t);
	if (*err >= 0)
		return 0;
	if (spec_number(t, 1, 4095, &n))
		return spec_bad(b->err, t, "1 to 4095, %s",
				spec_names(spec_errno_names, names, sizeof(names)));
	*err = (int)n;
	return 0;
}

int spec_set_fail(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	struct spec_faults *f = &b->dev->fault;
	struct spec_tok item, what, head, tail;
	char names[960];

	(void)k;
	while (spec_split(&v, '|', &item)) {
		struct spec_fail *at = &f->fail[f->nfail];
		bool colon = spec_cut(item, ':', &head, &tail);
		int call;

		if (full(b, item, f->nfail) ||
		    at_number(b, head, "CALL@K or CALL@K:ERRNO", &what, &at->k))
			return -1;
		call = spec_lookup(spec_call_names, "ibv_", what);
		if (call < 0)
			return spec_bad(b->err, what, "%s",
					spec_names(spec_call_names, names, sizeof(names)));
		at->call = (enum spec_call)call;
		at->err = spec_lookup(spec_errno_names, "", (struct spec_tok){ "ENOMEM", 6, 0 });
		if (colon && fail_errno(b, tail, &at->err))
			return -1;
		f->nfail++;
	}
	return 0;
}

static int event_when(struct spec_build *b, struct spec_tok t, struct spec_event *at)
{
	if (!spec_number(t, 0, UINT64_MAX, &at->n))
		return 0;
	at->timed = true;
	if (!spec_time(t, false, &at->ns))
		return 0;
	return spec_bad(b->err, t, "the number of a work request, 0 for at once, or a time after "
			"the start");
}

int spec_set_event(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	struct spec_faults *f = &b->dev->fault;
	struct spec_tok item, what, when;
	char names[512];

	(void)k;
	while (spec_split(&v, '|', &item)) {
		struct spec_event *at = &f->event[f->nevent];
		int type;

		if (full(b, item, f->nevent))
			return -1;
		if (!spec_cut(item, '@', &what, &when))
			return spec_bad(b->err, item, "NAME@N or NAME@TIME");
		type = spec_lookup(spec_event_names, "IBV_EVENT_", what);
		if (type < 0)
			return spec_bad(b->err, what, "%s",
					spec_names(spec_event_names, names, sizeof(names)));
		if (event_when(b, when, at))
			return -1;
		at->type = (enum ibv_event_type)type;
		at->port = (uint8_t)(b->port ? b->port : 1);
		f->nevent++;
	}
	return 0;
}

int spec_set_stall(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	struct spec_faults *f = &b->dev->fault;
	struct spec_tok item, what;

	(void)k;
	while (spec_split(&v, '|', &item)) {
		struct spec_stall *at = &f->stall[f->nstall];

		if (full(b, item, f->nstall) || at_number(b, item, "TIME@N", &what, &at->n))
			return -1;
		if (spec_time(what, false, &at->ns))
			return spec_bad(b->err, what, "a time such as 2us (ns, us, ms, s)");
		f->nstall++;
	}
	return 0;
}
