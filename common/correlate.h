/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Autocorrelation of a long series by the fast Fourier transform. Pure. */
#ifndef CORRELATE_H
#define CORRELATE_H

#include <stddef.h>

/*
 * out[lag] for lags 0 to lags - 1 of v[n], mean taken off, each over the pairs that it has, out[0]
 * being 1; all 0 for a series that does not vary. lags <= n. 0 or -ENOMEM.
 */
int correlate(const double *v, size_t n, double *out, size_t lags);

#endif
