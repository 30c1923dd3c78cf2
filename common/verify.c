/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verify.h"

#include <endian.h>
#include <string.h>

#define STEP 0x9e3779b97f4a7c15ull

/* The finaliser of splitmix64: every bit of the input reaches every bit of the output. */
static uint64_t mix(uint64_t v)
{
	v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
	return v ^ (v >> 31);
}

uint64_t verify_key(uint64_t seed, unsigned int lane, uint64_t sequence)
{
	return mix(mix(seed + STEP * (lane + 1ull)) + STEP * (sequence + 1));
}

/* Eight bytes of the message, the same on every byte order. */
static uint64_t word_at(uint64_t key, size_t i)
{
	return htole64(mix(key + STEP * i));
}

void verify_fill(void *p, size_t size, uint64_t key)
{
	char *to = p;
	size_t words = size / 8;
	uint64_t v;

	for (size_t i = 0; i < words; i++) {
		v = word_at(key, i);
		memcpy(to + 8 * i, &v, 8);
	}
	v = word_at(key, words);
	memcpy(to + 8 * words, &v, size % 8);
}

unsigned char verify_byte(uint64_t key, size_t offset)
{
	uint64_t v = word_at(key, offset / 8);

	return ((const unsigned char *)&v)[offset % 8];
}

size_t verify_check(const void *p, size_t size, uint64_t key)
{
	const unsigned char *from = p;
	size_t words = size / 8, i;

	for (i = 0; i < words; i++) {
		uint64_t v = word_at(key, i);

		if (memcmp(from + 8 * i, &v, 8))
			break;
	}
	for (i *= 8; i < size; i++)
		if (from[i] != verify_byte(key, i))
			return i;
	return size;
}
