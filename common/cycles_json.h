/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A clock's certificate as JSON: the "clock" of every report. */
#ifndef COMMON_CYCLES_JSON_H
#define COMMON_CYCLES_JSON_H

#include <jansson.h>

#include "cycles.h"

/*
 * source, hz, ppm, hz_before, hz_after, between_ppm, invariant, trusted, why, independent, read_ns,
 * resolution_ns; null for what was not measured.
 */
json_t *clock_cert_json(const struct clock_cert *cert);

#endif
