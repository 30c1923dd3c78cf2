/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mark that the receiver of a WRITE waits for: the lap number times an odd constant,
 * big-endian, in the last w bytes of the message, w the largest power of two up to 8 that divides
 * the size. Buffers start on a page, so the mark lies inside one aligned 8-byte word, which is
 * read and compared whole under a mask. The last byte differs from lap to lap.
 */
#ifndef COMMON_MARK_H
#define COMMON_MARK_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#define MARK_FACTOR 0x9e3779b97f4a7c15ull /* odd */
#define MARK_INVERSE 0xf1de83e19937733dull /* times the factor: 1 */

struct mark {
	size_t word;          /* offset of the aligned word in the message */
	unsigned int width;   /* w, bytes */
	unsigned int shift;   /* left shift of the w bytes, as one big-endian number of the word */
	uint64_t mask;        /* of the word, in host order as loaded */
};

static inline struct mark mark_of_size(size_t size)
{
	unsigned int w = 8;
	struct mark m;
	size_t at;

	while (size % w)
		w /= 2;
	at = size - w;
	m.word = at & ~(size_t)7;
	m.width = w;
	m.shift = 8 * (8 - w - (unsigned int)(at - m.word));
	m.mask = htobe64((w == 8 ? ~0ull : (1ull << 8 * w) - 1) << m.shift);
	return m;
}

/* The word of a lap as it stands in memory; other bytes of it are 0. */
static inline uint64_t mark_word(const struct mark *m, uint64_t lap)
{
	return htobe64((lap * MARK_FACTOR) << m->shift) & m->mask;
}

/*
 * How many numbers the mark of @word is ahead of @lap's, or, below 0, behind it: a mark of w bytes
 * tells numbers apart that are less than half of 2^8w from each other.
 */
static inline int64_t mark_ahead(const struct mark *m, uint64_t word, uint64_t lap)
{
	uint64_t number = (be64toh(word & m->mask) >> m->shift) * MARK_INVERSE;
	unsigned int unused = 64 - 8 * m->width;

	return (int64_t)((number - lap) << unused) >> unused;
}

/*
 * The number of a size's first lap, given the next free one: a mark of 0 could not be told from
 * the cleared buffer. Both ends come to the same.
 */
static inline uint64_t mark_first(const struct mark *m, uint64_t number)
{
	return mark_word(m, number) ? number : number + 1;
}

#endif
