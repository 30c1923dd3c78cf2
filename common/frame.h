/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of the control connection. Pure: bytes in, frames out.
 *
 *   0  4  magic "VPF1"
 *   4  4  length of the text, big-endian
 *   8  n  a JSON object in UTF-8
 */
#ifndef COMMON_FRAME_H
#define COMMON_FRAME_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAGIC "VPF1"
#define FRAME_HEADER 8
#define FRAME_STRANGER_MAX (64u << 10) /* text of whoever has no accepted plan */
#define FRAME_PEER_MAX (64u << 20)     /* text of an accepted peer */

/*
 * Length of the text after the header at @p, of which @len bytes have come.
 * -EAGAIN: more bytes are needed; -EPROTO: no frame of ours, told from the first byte that
 * differs; -EMSGSIZE: longer than @max.
 */
int64_t frame_text_length(const uint8_t *p, size_t len, uint32_t max);

/* JSON object of a text, or NULL when it is none. */
json_t *frame_parse(const uint8_t *text, size_t len);

/* A whole frame in malloc'ed memory, its size in @len; NULL when memory is short. */
uint8_t *frame_build(json_t *object, size_t *len);

#endif
