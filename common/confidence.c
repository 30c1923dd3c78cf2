/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "confidence.h"

#include <math.h>

/* P(|T| <= t): Abramowitz and Stegun 26.7.3 and 26.7.4, exact for whole degrees of freedom. */
static double student(double t, unsigned int df)
{
	double angle = atan(t / sqrt(df)), s = sin(angle), c = cos(angle);
	double term = df % 2 ? c : 1, sum = 0;

	for (unsigned int k = df % 2 ? 1 : 0; k + 2 <= df; k += 2) {
		sum += term;
		term *= c * c * (k + 1) / (k + 2);
	}
	return df % 2 ? (angle + s * sum) * 2 / M_PI : s * sum;
}

double confidence_t(double level, unsigned int df)
{
	double lo = 0, hi = 1;

	while (student(hi, df) < level)
		hi *= 2;
	for (int i = 0; i < 200 && hi - lo > 1e-12 * hi; i++) {
		double t = (lo + hi) / 2;

		if (student(t, df) < level)
			lo = t;
		else
			hi = t;
	}
	return (lo + hi) / 2;
}

void confidence_of(const double *v, unsigned int n, double level, struct confidence *out)
{
	double sum = 0, squares = 0;

	*out = (struct confidence){ .n = n, .least = v[0], .most = v[0], .half = NAN };
	for (unsigned int i = 0; i < n; i++) {
		sum += v[i];
		out->least = fmin(out->least, v[i]);
		out->most = fmax(out->most, v[i]);
	}
	out->mean = sum / n;
	for (unsigned int i = 0; i < n; i++)
		squares += (v[i] - out->mean) * (v[i] - out->mean);
	if (n >= 2)
		out->half = confidence_t(level, n - 1) * sqrt(squares / (n - 1) / n);
	out->half_percent = 100 * out->half / fabs(out->mean);
}
