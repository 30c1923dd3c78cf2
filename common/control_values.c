/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Samples on the control connection: 64 bits each, big-endian. */
#include "control.h"

#include <endian.h>

#include "deadline.h"

#define PIECE 8192 /* values */

int control_send_values(struct control *c, const uint64_t *v, uint64_t n, uint64_t ns,
			struct error *err)
{
	uint64_t piece[PIECE];

	while (n) {
		size_t some = n < PIECE ? (size_t)n : PIECE;

		for (size_t i = 0; i < some; i++)
			piece[i] = htobe64(v[i]);
		if (control_send_bytes(c, piece, some * 8, deadline_in(ns), err))
			return -1;
		v += some;
		n -= some;
	}
	return 0;
}

int control_recv_values(struct control *c, uint64_t *v, uint64_t n, uint64_t ns,
			struct error *err)
{
	while (n) {
		size_t some = n < PIECE ? (size_t)n : PIECE;

		if (control_recv_bytes(c, v, some * 8, deadline_in(ns), err))
			return -1;
		for (size_t i = 0; i < some; i++)
			v[i] = be64toh(v[i]);
		v += some;
		n -= some;
	}
	return 0;
}
