/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --verify: what stands in a message, from seed, lane, sequence and offset. Pure. */
#ifndef COMMON_VERIFY_H
#define COMMON_VERIFY_H

#include <stddef.h>
#include <stdint.h>

/* Of one message; different for every lane and sequence. */
uint64_t verify_key(uint64_t seed, unsigned int lane, uint64_t sequence);

void verify_fill(void *p, size_t size, uint64_t key);
/* Offset of the first byte that differs, or @size. */
size_t verify_check(const void *p, size_t size, uint64_t key);
/* The byte that is due at @offset. */
unsigned char verify_byte(uint64_t key, size_t offset);

#endif
