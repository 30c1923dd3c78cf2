/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stats_json.h"

#include <math.h>
#include <stdio.h>

json_t *figure_json(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

void figure_set(json_t *o, const char *name, const char *unit, double v)
{
	char key[40];

	snprintf(key, sizeof(key), "%s_%s", name, unit);
	json_object_set_new(o, key, figure_json(v));
}

void stats_set_json(json_t *o, const struct stats_view *v, const char *unit)
{
	char key[40];

	figure_set(o, "min", unit, v->min);
	figure_set(o, "median", unit, v->median);
	snprintf(key, sizeof(key), "median_ci95_%s", unit);
	json_object_set_new(o, key,
			    isfinite(v->ci95_lo) ? json_pack("[o,o]", figure_json(v->ci95_lo),
							     figure_json(v->ci95_hi))
						 : json_null());
	figure_set(o, "mean", unit, v->mean);
	figure_set(o, "stdev", unit, v->stdev);
	figure_set(o, "p90", unit, v->p90);
	figure_set(o, "p99", unit, v->p99);
	figure_set(o, "p99_9", unit, v->p99_9);
	figure_set(o, "p99_99", unit, v->p99_99);
	figure_set(o, "max", unit, v->max);
}
