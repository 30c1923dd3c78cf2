/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any text as SPEC: no crash, and an error lies inside the text and is one line. What parses is
 * drawn from, since a sum of terms must not overflow.
 * Links softverbs/spec*.c, softverbs/dist.c and -lm.
 */
#include <stdlib.h>
#include <string.h>

#include "../../softverbs/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct spec_error err;
	struct dist_state st;
	struct spec s;

	memcpy(text, data, size);
	text[size] = 0;
	if (spec_parse(text, &s, &err)) {
		if (err.pos > strlen(text) || !err.text[0] || strchr(err.text, '\n') || s.dev)
			abort();
	}
	dist_seed(&st, size);
	for (int i = 0; i < s.ndev; i++)
		if (dist_draw(&s.dev[i].delay, &st, size) > 40 * (uint64_t)1e15 * DIST_TERMS)
			abort();
	spec_free(&s);
	free(text);
	return 0;
}
