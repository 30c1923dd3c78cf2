/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan.h"

#include <errno.h>
#include <string.h>

#include "device.h"
#include "memory.h"
#include "deadline.h"

static bool in_plan(const struct option_record *o, const struct option_program *p)
{
	return o->scope == SCOPE_PLAN && o->type != OPTION_ALL_SIZES && option_applies(o, p);
}

json_t *plan_to_json(const struct option_program *p, const struct settings *s)
{
	json_t *plan = json_object();

	for (const struct option_record *o = option_table; o->name; o++)
		if (in_plan(o, p))
			json_object_set_new(plan, o->name, option_to_json(o, s));
	return plan;
}

/* Given by name, or by an option that stands for it: -a is a list of sizes, -n is no time. */
static bool given_here(const struct option_record *o, const struct settings *s)
{
	return s->given[o - option_table] ||
	       (!strcmp(o->name, "size") && option_given(s, "all")) ||
	       (!strcmp(o->name, "duration") && option_given(s, "iters"));
}

/* As a user would type it: 1,64 and not [1,64]. Released with free(). */
static char *value_text(json_t *v)
{
	char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
	size_t len = text ? strlen(text) : 0;

	if (text && json_is_null(v))
		strcpy(text, "none");
	else if (len >= 2 && (*text == '[' || *text == '"')) {
		memmove(text, text + 1, len - 2);
		text[len - 2] = '\0';
	}
	return text;
}

static void add_difference(const struct option_record *o, json_t *client, json_t *server,
			   char *why, size_t cap)
{
	char *a = value_text(client), *b = value_text(server);
	size_t len = strlen(why);

	snprintf(why + len, cap - len, "%s%s: client %s, server %s", len ? "; " : "", o->name,
		 a ? a : "?", b ? b : "?");
	free(a);
	free(b);
}

/* One option: 0, -EEXIST and a line in @why, or -EINVAL. */
static int apply_one(const struct option_record *o, json_t *value, struct settings *s, char *why,
		     size_t cap)
{
	struct settings client = *s;
	json_t *ours, *theirs;
	int rc = 0;

	if (!value || option_from_json(o, value, &client)) {
		snprintf(why, cap, "%s", o->name);
		return -EINVAL;
	}
	/* As we write it: 1 and 1.0 seconds are the same time. */
	theirs = option_to_json(o, &client);
	ours = option_to_json(o, s);
	if (given_here(o, s) && !json_equal(ours, theirs)) {
		add_difference(o, theirs, ours, why, cap);
		rc = -EEXIST;
	}
	json_decref(theirs);
	json_decref(ours);
	*s = client;
	return rc;
}

/* The option whose value is in its range and still cannot be, or NULL. */
static const char *unfit(const struct settings *s)
{
	if (s->mtu != OPTION_AUTO && !mtu_from_bytes(s->mtu))
		return "mtu";
	if (s->detail && !s->duration_ns && s->iters > PLAN_SAMPLES_MAX)
		return "iters";
	return NULL;
}

bool plan_dump_too_long(const struct settings *s)
{
	return (s->unsorted || s->sorted || s->dump) && !s->duration_ns && s->iters > PLAN_SAMPLES_MAX;
}

int plan_apply(const struct option_program *p, json_t *plan, struct settings *s, char *why,
	       size_t cap)
{
	size_t known = 0;
	int rc = 0;

	*why = '\0';
	for (const struct option_record *o = option_table; o->name; o++) {
		int one;

		if (!in_plan(o, p))
			continue;
		known++;
		one = apply_one(o, json_object_get(plan, o->name), s, why, cap);
		if (one == -EINVAL)
			return one;
		rc = rc ? rc : one;
	}
	if (json_object_size(plan) != known) {
		snprintf(why, cap, "an option this release does not know");
		return -EINVAL;
	}
	if (unfit(s)) {
		snprintf(why, cap, "%s", unfit(s));
		return -EINVAL;
	}
	return rc;
}

#define INFINITE_NS (365 * 86400 * NS_PER_S)

void plan_complete(struct settings *s)
{
	if (s->confidence.level > 0 && !s->runs.most)
		s->runs = (struct option_runs){ 3, 30 };
	if (s->runs.most && !(s->confidence.level > 0))
		s->confidence = (struct option_confidence){ 99, 5 };
	if (!s->infinite)
		return;
	s->duration_ns = INFINITE_NS;
	if (!s->interval_ns)
		s->interval_ns = NS_PER_S;
}

uint64_t plan_kept_laps(const struct settings *s, bool dumps)
{
	/* The fastest lap that is thought of, 100 ns, sizes the arrays of a run by time. */
	uint64_t most = s->duration_ns ? s->duration_ns / 100 + 1 : s->iters;
	bool wanted = dumps || s->detail;

	if (s->duration_ns && !wanted)
		return 0;
	if (most > PLAN_SAMPLES_MAX)
		return wanted ? PLAN_SAMPLES_MAX : 0;
	return most;
}

uint64_t plan_memory(const struct settings *s, bool dumps)
{
	uint64_t laps = plan_kept_laps(s, dumps) + s->warmup + 2;
	/* Stamps, then a copy and scratch space to sort them; seen and gap besides with --detail. */
	uint64_t arrays = s->detail ? 7 : 3, bytes, largest = 0;

	for (unsigned int i = 0; i < s->sizes.count; i++)
		if (s->sizes.v[i] > largest)
			largest = s->sizes.v[i];
	/* What is printed at the end is kept of each size. */
	if (dumps && s->sizes.count > 1)
		arrays += s->sizes.count * (s->detail ? 3 : 1);
	bytes = laps * 8 * arrays;
	return bytes + s->qps * 2 * (largest + 4096);
}

int plan_validate(const struct settings *s, char *why, size_t cap)
{
	const char *name = unfit(s);

	*why = '\0';
	if (name && !strcmp(name, "mtu"))
		snprintf(why, cap, "--mtu %llu is no path MTU; allowed are 256, 512, 1024, 2048, 4096",
			 (unsigned long long)s->mtu);
	else if (s->given[option_index("size")] && s->given[option_index("all")])
		snprintf(why, cap, "--size and --all name sizes both; give one of them");
	else if (s->given[option_index("iters")] && (s->duration_ns || s->infinite))
		snprintf(why, cap, "--iters and --%s both say when to end; give one of them",
			 s->infinite ? "run-infinitely" : "duration");
	else if (s->infinite && s->duration_ns)
		snprintf(why, cap, "--duration and --run-infinitely both say when to end; give one");
	else if (name)
		snprintf(why, cap, "--detail keeps every lap: at most %llu with --iters",
			 PLAN_SAMPLES_MAX);
	else if (plan_dump_too_long(s))
		snprintf(why, cap, "-U, -H and --dump keep every sample: at most %llu with --iters",
			 PLAN_SAMPLES_MAX);
	return *why ? -EINVAL : 0;
}
