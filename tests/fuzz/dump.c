/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any bytes as a file for lat_stats: a dump or a text. What is refused has one line; what is taken
 * is analysed, placed, printed, converted. A dump's checksum is set right first, so that what is
 * behind it is reached; one that the bytes have by chance would be found wrong otherwise.
 */
#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis_report.h"
#include "convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine)
{
	if (!fine)
		abort();
}

/* The last word becomes the checksum of all before it. */
static void set_checksum(uint8_t *bytes, size_t size)
{
	uint64_t sum = DUMP_SEED, word;

	if (size < 16 || size % 8 || !dump_recognise(bytes, size))
		return;
	for (size_t i = 0; i < size - 8; i += 8) {
		memcpy(&word, bytes + i, sizeof(word));
		word = le64toh(word);
		sum = dump_checksum(sum, &word, 1);
	}
	sum = htole64(sum);
	memcpy(bytes + size - 8, &sum, sizeof(sum));
}

static void try_series(const struct series_set *set, const struct series *s, FILE *out)
{
	struct analysis a;
	struct error err;
	json_t *o;

	error_init(&err, "x");
	check(!analysis_run(&a, s, 10, &err));
	check(!analysis_place(&a, series_partner(set, s), &err));
	o = analysis_json(&a);
	check(json_is_object(o));
	json_decref(o);
	analysis_text(out, &a, false);
	analysis_text(out, &a, true);
	analysis_close(&a);
	check(!convert_series(out, s, CONVERT_CSV, &err));
	check(!convert_series(out, s, CONVERT_GNUPLOT, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct series_set set = { .count = 0 };
	uint8_t *bytes = malloc(size + 1);
	int fd = memfd_create("fuzz", 0);
	char path[32];
	struct error err;
	FILE *out = fopen("/dev/null", "w");

	memcpy(bytes, data, size);
	set_checksum(bytes, size);
	check(write(fd, bytes, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	error_init(&err, "x");
	if (series_load(&set, path, &err))
		check(err.code == EXIT_MISUSE && err.text[0] && !strchr(err.text, '\n'));
	else
		for (size_t i = 0; i < set.count && i < 2; i++)
			try_series(&set, &set.v[i], out);
	series_close(&set);
	fclose(out);
	close(fd);
	free(bytes);
	return 0;
}
