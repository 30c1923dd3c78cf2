/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "correlate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct complex_number {
	double re, im;
};

static void reverse_bits(struct complex_number *x, size_t n)
{
	for (size_t i = 1, j = 0; i < n; i++) {
		size_t bit = n >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			struct complex_number t = x[i];

			x[i] = x[j];
			x[j] = t;
		}
	}
}

/* n a power of two; root[n / 2] of exp(-2 pi i k / n). In place. */
static void transform(struct complex_number *x, size_t n, const struct complex_number *root)
{
	reverse_bits(x, n);
	for (size_t len = 2; len <= n; len *= 2) {
		size_t step = n / len, half = len / 2;

		for (size_t i = 0; i < n; i += len) {
			for (size_t k = 0; k < half; k++) {
				struct complex_number w = root[k * step], a = x[i + k];
				struct complex_number b = x[i + k + half], c;

				c.re = b.re * w.re - b.im * w.im;
				c.im = b.re * w.im + b.im * w.re;
				x[i + k] = (struct complex_number){ a.re + c.re, a.im + c.im };
				x[i + k + half] =
					(struct complex_number){ a.re - c.re, a.im - c.im };
			}
		}
	}
}

int correlate(const double *v, size_t n, double *out, size_t lags)
{
	size_t size = 2;
	double mean = 0, first;
	struct complex_number *x, *root;

	while (size < n + lags)
		size *= 2;
	x = calloc(size + size / 2, sizeof(*x));
	if (!x)
		return -ENOMEM;
	root = x + size;
	for (size_t k = 0; k < size / 2; k++) {
		double angle = -2 * M_PI * (double)k / (double)size;

		root[k] = (struct complex_number){ cos(angle), sin(angle) };
	}
	for (size_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		x[i].re = v[i] - mean;
	transform(x, size, root);
	/* The power is real and even, so another transform forward is as good as one back. */
	for (size_t i = 0; i < size; i++)
		x[i] = (struct complex_number){ x[i].re * x[i].re + x[i].im * x[i].im, 0 };
	transform(x, size, root);
	first = x[0].re / (double)n;
	for (size_t lag = 0; lag < lags; lag++)
		out[lag] = first > 0 ? x[lag].re / (double)(n - lag) / first : 0;
	free(x);
	return 0;
}
