/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis_report.h"

#define CHUNK 4096

void convert_header(FILE *out, enum convert_format format)
{
	if (format == CONVERT_CSV)
		fputs("file,role,size,run,number,warmup,start_usec,cycles,usec,wait_cycles,"
		      "gap_cycles,device\n",
		      out);
}

/* A name with a comma or a quote in it is quoted. */
static void csv_text(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void csv_figure(FILE *out, double v, int digits)
{
	fputc(',', out);
	if (isfinite(v))
		fprintf(out, "%.*f", digits, v);
}

/* What of a row does not depend on the row. */
struct row_writer {
	FILE *out;
	const struct series *s;
	enum convert_format format;
	struct hiccup_end end;
	struct series_window window;
	double cycles, usec; /* factors */
};

/* The device's time of the completion that sample k waited for. */
static bool device_at(const struct series *s, uint64_t k, uint64_t *v)
{
	const struct dump_series *d = s->stamps;
	struct error err;

	error_init(&err, "");
	return s->dump && s->detail && d->count[DUMP_DEVICE] &&
	       !dump_read(s->dump, d, DUMP_DEVICE, s->warmup + k + s->server, 1, v, &err);
}

static void write_csv(const struct row_writer *w, long long number, uint64_t k, double start,
		      uint64_t v, const struct lap_parts *parts)
{
	const struct series *s = w->s;
	uint64_t device;

	csv_text(w->out, s->file);
	fprintf(w->out, ",%s,", s->known ? series_role(s) : "");
	if (s->size)
		fprintf(w->out, "%llu", (unsigned long long)s->size);
	fprintf(w->out, ",%llu,%lld,%d", (unsigned long long)s->run, number, number < 1);
	csv_figure(w->out, start, 4);
	csv_figure(w->out, (double)v * w->cycles, s->factor < 1 ? 1 : 0);
	csv_figure(w->out, (double)v * w->usec, 6);
	csv_figure(w->out, parts ? (double)parts->wait : NAN, 0);
	csv_figure(w->out, parts ? (double)parts->gap : NAN, 0);
	fputc(',', w->out);
	if (device_at(s, k, &device))
		fprintf(w->out, "%llu", (unsigned long long)device);
	fputc('\n', w->out);
}

static void write_row(const struct row_writer *w, uint64_t k, uint64_t warmup, double start,
		      uint64_t v)
{
	long long number = (long long)series_lap(w->s, k) - (long long)warmup + 1;
	struct lap_parts parts;
	bool known = w->s->detail && w->end.at(w->end.arg, k, &parts);

	if (w->format == CONVERT_CSV)
		write_csv(w, number, k, start, v, known ? &parts : NULL);
	else if (isnan(start))
		fprintf(w->out, "%lld - %.6f\n", number,
			(double)v * (isnan(w->usec) ? w->cycles : w->usec));
	else
		fprintf(w->out, "%lld %.4f %.6f\n", number, start,
			(double)v * (isnan(w->usec) ? w->cycles : w->usec));
}

/* @all: the series with its warm-up laps as samples. */
static int write_rows(const struct row_writer *w, const struct series *all, uint64_t warmup,
		      struct error *err)
{
	uint64_t *v = malloc((CHUNK + 1) * sizeof(*v)), unused = 0;
	double whole = all->paced || all->lost || all->missing ? NAN : all->whole / all->hz * 1e6;
	double start = 0 * whole;
	int rc = v ? 0 : error_set(err, EXIT_FAILED, 0, "%s: out of memory", all->file);

	for (uint64_t at = 0; at < all->n && !rc && !ferror(w->out);) {
		size_t n = all->n - at < CHUNK ? (size_t)(all->n - at) : CHUNK;

		rc = series_read(all, at, n, v, &unused, err);
		for (size_t i = 0; i < n && !rc; i++) {
			write_row(w, at + i, warmup, start, v[i]);
			start += (double)v[i] * whole;
		}
		at += n;
	}
	free(v);
	return rc;
}

int convert_series(FILE *out, const struct series *s, enum convert_format format, struct error *err)
{
	struct series all = *s;
	uint64_t warmup = s->dump && !s->v ? s->warmup : 0;
	struct row_writer w = { .out = out, .s = &all, .format = format };
	int rc;

	all.n += s->n ? warmup : 0;
	all.warmup -= warmup;
	series_end(&all, &w.window, &w.end);
	w.cycles = analysis_factor(s, true);
	w.usec = analysis_factor(s, false);
	if (format == CONVERT_GNUPLOT)
		fprintf(out, "# %s %s size %llu run %llu\n# number start[usec] value[%s]\n",
			s->file, series_role(s), (unsigned long long)s->size,
			(unsigned long long)s->run, isnan(w.usec) ? "cycles" : "usec");
	rc = write_rows(&w, &all, warmup, err);
	if (format == CONVERT_GNUPLOT)
		fputs("\n\n", out);
	return rc;
}
