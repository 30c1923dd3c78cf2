/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Figures as JSON, by the keys of a result: "median_usec" and its like. */
#ifndef COMMON_STATS_JSON_H
#define COMMON_STATS_JSON_H

#include <jansson.h>

#include "stats.h"

/* null for what is not finite: it was not measured. */
json_t *figure_json(double v);
/* key "NAME_UNIT". */
void figure_set(json_t *o, const char *name, const char *unit, double v);
/* min, median, median_ci95 (two values, or null), mean, stdev, percentiles and max. */
void stats_set_json(json_t *o, const struct stats_view *v, const char *unit);

#endif
