/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int64_t frame_text_length(const uint8_t *p, size_t len, uint32_t max)
{
	uint32_t n;

	if (memcmp(p, FRAME_MAGIC, len < 4 ? len : 4))
		return -EPROTO;
	if (len < FRAME_HEADER)
		return -EAGAIN;
	n = (uint32_t)p[4] << 24 | (uint32_t)p[5] << 16 | (uint32_t)p[6] << 8 | p[7];
	return n > max ? -EMSGSIZE : (int64_t)n;
}

json_t *frame_parse(const uint8_t *text, size_t len)
{
	json_t *v = json_loadb((const char *)text, len, JSON_REJECT_DUPLICATES, NULL);

	if (v && !json_is_object(v)) {
		json_decref(v);
		return NULL;
	}
	return v;
}

uint8_t *frame_build(json_t *object, size_t *len)
{
	char *text = json_dumps(object, JSON_COMPACT);
	size_t n = text ? strlen(text) : 0;
	uint8_t *frame;

	frame = text && n <= FRAME_PEER_MAX ? malloc(FRAME_HEADER + n) : NULL;
	if (frame) {
		memcpy(frame, FRAME_MAGIC, 4);
		frame[4] = (uint8_t)(n >> 24);
		frame[5] = (uint8_t)(n >> 16);
		frame[6] = (uint8_t)(n >> 8);
		frame[7] = (uint8_t)n;
		memcpy(frame + FRAME_HEADER, text, n);
		*len = FRAME_HEADER + n;
	}
	free(text);
	return frame;
}
