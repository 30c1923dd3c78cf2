/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was found out of a series, as text and JSON. Only prints. */
#ifndef COMMON_ANALYSIS_REPORT_H
#define COMMON_ANALYSIS_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "analysis.h"

/* A value of the series in usec, or in cycles; NAN where that is not known. */
double analysis_factor(const struct series *s, bool cycles);
/* Is it reported in cycles? When that was asked for, or there is no clock. */
bool analysis_cycles(const struct series *s, bool asked);
/* "client", "server" or "unknown". */
const char *series_role(const struct series *s);

/* One line that says what it is, the summary, what was found, the pictures. */
void analysis_text(FILE *out, const struct analysis *a, bool cycles);
/* Histogram, ECDF and time strip. */
void analysis_pictures(FILE *out, const struct analysis *a, bool cycles);
/* One of files[]. */
json_t *analysis_json(const struct analysis *a);

/* 100, 250, 300 or 1000 for a frequency within 1 % of a timer tick's, else 0. */
unsigned int analysis_tick(double hz);

#endif
