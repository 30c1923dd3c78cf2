/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cycles_json.h"

#include <math.h>

#include "stats_json.h"

static json_t *measured(double hz, double v)
{
	return figure_json(hz > 0 ? v : NAN);
}

json_t *clock_cert_json(const struct clock_cert *c)
{
	return json_pack("{s:s,s:f,s:f,s:o,s:o,s:o,s:o,s:b,s:s,s:b,s:f,s:f}", "source", c->name,
			 "hz", c->hz, "ppm", c->ppm, "hz_before",
			 measured(c->hz_before, c->hz_before), "hz_after",
			 measured(c->hz_after, c->hz_after), "between_ppm",
			 measured(c->hz_after, c->between_ppm), "invariant",
			 c->invariant_known ? json_boolean(c->invariant) : json_null(), "trusted",
			 (int)c->trusted, "why", c->why ? c->why : "", "independent",
			 (int)c->independent, "read_ns", c->read_ns, "resolution_ns",
			 c->resolution_ns);
}
