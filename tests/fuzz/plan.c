/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer's JSON as hello, plan, endpoints and choice at once: what is taken is in range, comes
 * back the same, and can be picked from. Keys as in the control messages.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "candidate.h"
#include "endpoint.h"
#include "frame.h"
#include "plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct option_program lat = {
	.name = "rdma_lat", .mask = ~0u, .argument = "HOST",
};

static void check(bool fine)
{
	if (!fine)
		abort();
}

static void try_candidates(json_t *hello, json_t *choice)
{
	struct candidate_list l, again;
	struct candidate_choice c;
	struct candidate_pair pair;
	char why[64];
	json_t *back;

	if (candidates_from_json(hello, &l)) {
		check(!l.v && !l.count);
		return;
	}
	back = candidates_to_json(&l);
	check(!candidates_from_json(back, &again) && again.count == l.count);
	check(!l.count || !memcmp(l.v, again.v, (size_t)l.count * sizeof(*l.v)));
	if (!candidate_pick(&l, &again, OPTION_AUTO, &pair, why, sizeof(why)))
		check(pair.client.candidate < l.count && pair.server.candidate < l.count);
	if (!candidate_choice_from_json(choice, &l, &c)) {
		check(c.candidate >= 0 && c.candidate < l.count);
		check(c.gid < l.v[c.candidate].gid_count);
		check(c.pkey_index >= 0 && c.pkey_index < l.v[c.candidate].pkey_count);
	}
	json_decref(back);
	candidates_free(&l);
	candidates_free(&again);
}

static void try_plan(json_t *options)
{
	char *argv[] = { (char *)(uintptr_t) "rdma_lat", (char *)(uintptr_t) "-s",
			 (char *)(uintptr_t) "64",	 (char *)(uintptr_t) "-n",
			 (char *)(uintptr_t) "5",	 NULL };
	struct settings s;
	struct error err;
	char why[768];
	json_t *back;
	int rc;

	error_init(&err, "x");
	check(!options_parse(&lat, 5, argv, &s, &err));
	rc = plan_apply(&lat, options, &s, why, sizeof(why));
	check(strlen(why) < sizeof(why) && !rc == !*why);
	if (rc && rc != -EEXIST)
		return;
	check(s.sizes.count >= 1 && s.sizes.count <= SIZES_MAX);
	check(plan_kept_laps(&s, true) <= PLAN_SAMPLES_MAX && plan_memory(&s, true) > 0);
	back = plan_to_json(&lat, &s);
	rc = plan_apply(&lat, back, &s, why, sizeof(why));
	check(!rc);
	json_decref(back);
}

static void try_address(json_t *address)
{
	unsigned int qps = (unsigned int)json_array_size(json_object_get(address, "qps"));
	struct endpoint_address a;
	char text[256];

	if (endpoint_address_from_json(address, qps, &a)) {
		check(!a.qpns && !a.psns);
		return;
	}
	for (unsigned int i = 0; i < qps; i++) {
		check(a.qpns[i] <= 0xffffff && a.psns[i] <= 0xffffff);
		endpoint_address_text(&a, i, text, sizeof(text));
	}
	endpoint_address_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *v = frame_parse(data, size);

	if (!v)
		return 0;
	try_candidates(json_object_get(v, "candidates"), json_object_get(v, "client"));
	try_plan(json_object_get(v, "options"));
	try_address(json_object_get(v, "address"));
	json_decref(v);
	return 0;
}
