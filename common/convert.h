/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A series as rows, for other programs. */
#ifndef COMMON_CONVERT_H
#define COMMON_CONVERT_H

#include <stdio.h>

#include "series.h"

enum convert_format { CONVERT_CSV, CONVERT_GNUPLOT };

/* CSV: the header line, once. */
void convert_header(FILE *out, enum convert_format format);
/*
 * All samples, the warm-up first, with numbers up to 0. CSV: file, role, size, run, number, warmup,
 * start, cycles, usec, wait, gap, the device's time in its own units; what is not known is empty.
 * gnuplot: number, start [usec], value (usec, or cycles without a clock), a comment before and two
 * blank lines behind: "index" and "plot" know them. 0 or -1.
 */
int convert_series(FILE *out, const struct series *s, enum convert_format format,
		   struct error *err);

#endif
