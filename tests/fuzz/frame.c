/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any bytes as they come on the control connection: a header is judged by what is there, a text
 * inside its length; what parses is an object and is built into a frame that parses to the same.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine)
{
	if (!fine)
		abort();
}

static void rebuild(json_t *v)
{
	size_t len = 0;
	uint8_t *frame = frame_build(v, &len);
	json_t *back;

	check(frame &&
	      frame_text_length(frame, len, FRAME_PEER_MAX) == (int64_t)(len - FRAME_HEADER));
	back = frame_parse(frame + FRAME_HEADER, len - FRAME_HEADER);
	check(back && json_is_object(back) && json_object_size(back) == json_object_size(v));
	json_decref(back);
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t n, before = -EAGAIN;
	json_t *v;

	/* More bytes never take a verdict back. */
	for (size_t len = 0; len <= size && len <= FRAME_HEADER; len++) {
		n = frame_text_length(size ? data : (const uint8_t *)"", len, FRAME_STRANGER_MAX);
		check(before == -EAGAIN || n == before);
		check(n <= (int64_t)FRAME_STRANGER_MAX);
		before = n;
	}
	if (size < FRAME_HEADER)
		return 0;
	data += FRAME_HEADER;
	size -= FRAME_HEADER;
	/* A wrong header still has a text behind it to try. */
	if (before >= 0 && (uint64_t)before < size)
		size = (size_t)before;
	v = frame_parse(data, size);
	if (v)
		rebuild(v);
	json_decref(v);
	return 0;
}
