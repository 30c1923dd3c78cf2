/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any words as a command line, one a line: no crash, a refusal has one line of text, and what is
 * taken is in range and has its JSON.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "plan.h"

#define WORDS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct option_program lat = {
	.name = "rdma_lat", .summary = "", .mask = ~0u,
	.argument = "HOST",
};

static void check(bool fine)
{
	if (!fine)
		abort();
}

/* Cuts @text at its line ends. */
static int split(char *text, char *argv[WORDS_MAX + 2])
{
	int argc = 1;

	argv[0] = (char *)(uintptr_t)"rdma_lat";
	while (text && argc <= WORDS_MAX)
		argv[argc++] = strsep(&text, "\n");
	argv[argc] = NULL;
	return argc;
}

static void taken(const struct settings *s)
{
	json_t *v = options_settings_json(&lat, s), *plan = plan_to_json(&lat, s);
	char *text = json_dumps(v, 0), why[256];
	struct settings server = *s;

	check(text != NULL);
	check(s->sizes.count >= 1 && s->sizes.count <= SIZES_MAX);
	check(s->port <= 65535 && (s->duration_ns == 0 || s->duration_ns >= 1000000));
	if (!plan_validate(s, why, sizeof(why)))
		check(!plan_apply(&lat, plan, &server, why, sizeof(why)));
	free(text);
	json_decref(v);
	json_decref(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[WORDS_MAX + 2], *text = malloc(size + 1);
	struct settings s;
	struct error err;
	int argc;

	memcpy(text, data, size);
	text[size] = '\0';
	argc = split(text, argv);
	error_init(&err, "rdma_lat");
	if (options_parse(&lat, argc, argv, &s, &err))
		check(err.code == EXIT_MISUSE && err.text[0]);
	else
		taken(&s);
	error_free(&err);
	free(text);
	return 0;
}
