/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* softverbs --help and its manual page, from the table of SPEC keys. */
#include "help.h"

#include <string.h>

#include "spec_parse.h"

struct option_text {
	const char *option, *text;
};

static const struct option_text options[] = {
	{ "-d, --device SPEC", "devices; default: SOFTVERBS from the environment, else soft0" },
	{ "-h, --help", "this text" },
	{ "    --man", "the manual page as roff" },
	{ "-V, --version", "the version" },
	{ NULL, NULL },
};

static const struct option_text delays[] = {
	{ "TIME", "always the same: 2us, 0.5ms; ns, us, ms or s" },
	{ "uniform(A,B)", "even from A to B" },
	{ "exp(M)", "exponential, mean M" },
	{ "periodic(P,L,X)", "X in the first L of every P laps, else 0" },
	{ "steps(N:TIME|N:TIME...)", "TIME from lap N on, 0 before the first" },
	{ "file:PATH", "one TIME a line, a bare number is ns, # begins a comment; in a ring" },
	{ NULL, NULL },
};

static const struct option_text statuses[] = {
	{ "1", "the library is missing" },
	{ "2", "misuse, or a malformed SPEC" },
	{ "126", "CMD cannot be run" },
	{ "127", "CMD was not found" },
	{ NULL, NULL },
};

static const char summary[] = "runs a program with software verbs devices";
static const char purpose[] =
	"Runs CMD with software verbs devices: no RDMA hardware, no kernel driver, no root.\n"
	"Processes of one user on one host reach each other; it says nothing about hardware.\n";
static const char grammar[] =
	"SPEC is NAME[:KEY=VALUE,KEY=VALUE...][;NAME...], for example soft0:delay=2us,seed=7.\n"
	"Lists are by |; a comma inside () separates nothing.\n";

static const char *const examples[] = {
	"softverbs rdma_lat & softverbs rdma_lat localhost",
	"softverbs -d 'soft0:delay=2us+exp(1us),seed=7' CMD",
	"softverbs -d 'soft0;soft1:link=eth,gids=fe80::1|10.0.0.1,mtu=1024' CMD",
	"softverbs -d 'soft0:err=REM_ACCESS_ERR@100,drop=0.01,trace=/tmp/truth' CMD",
	NULL,
};

/* "link=ib|eth|iwarp", "die@N", "grh_required". */
static void key_usage(const struct spec_key *k, char *out, size_t cap)
{
	size_t n = (size_t)snprintf(out, cap, "%s%s", k->name,
				    k->form == SPEC_VALUE ? "=" : k->form == SPEC_AT ? "@" : "");

	if (k->arg)
		snprintf(out + n, cap - n, "%s", k->arg);
	for (const struct spec_name *v = k->names; v && v->name && n < cap; v++)
		n += (size_t)snprintf(out + n, cap - n, "%s%s", v == k->names ? "" : "|", v->name);
}

/* What it does, what is allowed, what holds without it. */
static void key_text(const struct spec_key *k, char *out, size_t cap)
{
	size_t n = (size_t)snprintf(out, cap, "%s", k->help);
	const char *sep = " (";

	if (k->max && k->max < UINT64_MAX && n < cap) {
		n += (size_t)snprintf(out + n, cap - n, "%s%llu to %llu", sep,
				      (unsigned long long)k->min, (unsigned long long)k->max);
		sep = "; ";
	}
	if (k->fallback && n < cap) {
		n += (size_t)snprintf(out + n, cap - n, "%sdefault %s", sep, k->fallback);
		sep = "; ";
	}
	if (*sep == ';' && n < cap)
		snprintf(out + n, cap - n, ")");
}

static void help_rows(FILE *out, const struct option_text *t)
{
	for (; t->option; t++)
		fprintf(out, "  %-24s %s\n", t->option, t->text);
}

void help_print(FILE *out)
{
	char usage[64], text[256];

	fprintf(out, "usage: softverbs [-d SPEC] CMD [ARGS...]\n%s\n", purpose);
	help_rows(out, options);
	fprintf(out, "\n%s", grammar);
	for (const struct spec_key *k = spec_keys; k->name; k++) {
		if (k->group)
			fprintf(out, "\n%s:\n", k->group);
		key_usage(k, usage, sizeof(usage));
		key_text(k, text, sizeof(text));
		fprintf(out, "  %-24s", usage);
		if (strlen(usage) > 24)
			fprintf(out, "\n%26s", "");
		fprintf(out, " %s\n", text);
	}
	fputs("\nDELAY is a sum, by +, of up to 8 of (a lap is a work request, from 0):\n", out);
	help_rows(out, delays);
	fputs("\nExamples:\n", out);
	for (const char *const *e = examples; *e; e++)
		fprintf(out, "  %s\n", *e);
	fputs("\nExit status: that of CMD, or\n", out);
	help_rows(out, statuses);
}

/* roff: backslashes and hyphens are escaped, and a dot or quote that begins a line. */
static void roff(FILE *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		bool first = p == text || p[-1] == '\n';

		if (first && (*p == '.' || *p == '\''))
			fputs("\\&", out);
		if (*p == '\\')
			fputs("\\e", out);
		else if (*p == '-')
			fputs("\\-", out);
		else
			fputc(*p, out);
	}
}

static void man_item(FILE *out, const char *tag, const char *text)
{
	fputs(".TP\n.B ", out);
	roff(out, tag + strspn(tag, " "));
	fputc('\n', out);
	roff(out, text);
	fputc('\n', out);
}

static void man_rows(FILE *out, const struct option_text *t)
{
	for (; t->option; t++)
		man_item(out, t->option, t->text);
}

static void man_keys(FILE *out)
{
	char usage[64], text[256];

	for (const struct spec_key *k = spec_keys; k->name; k++) {
		if (k->group)
			fprintf(out, ".SS %s\n", k->group);
		key_usage(k, usage, sizeof(usage));
		key_text(k, text, sizeof(text));
		man_item(out, usage, text);
	}
}

void help_man(FILE *out)
{
	fprintf(out, ".TH SOFTVERBS 1 %s \"verbsperf %s\" \"User Commands\"\n", VERBSPERF_DATE,
		VERBSPERF_VERSION);
	fprintf(out, ".SH NAME\nsoftverbs \\- %s\n", summary);
	fputs(".SH SYNOPSIS\n.B softverbs\n[\\fB\\-d\\fR \\fISPEC\\fR] \\fICMD\\fR "
	      "[\\fIARGS\\fR...]\n.SH DESCRIPTION\n", out);
	roff(out, purpose);
	fputs("Options of softverbs end at CMD.\n.SH OPTIONS\n", out);
	man_rows(out, options);
	fputs(".SH SPEC\n", out);
	roff(out, grammar);
	fputs("Each key is given once; of a list of faults a second one adds.\n", out);
	man_keys(out);
	fputs(".SS DELAY\nA sum, by +, of up to 8 of these; a lap is a work request, from 0.\n",
	      out);
	man_rows(out, delays);
	fputs(".SH ENVIRONMENT\n", out);
	man_item(out, "SOFTVERBS", "the SPEC, without -d");
	man_item(out, "SOFTVERBS_FABRIC", "a name: who has the same one sees each other");
	fputs(".SH EXIT STATUS\nThat of CMD, or\n", out);
	man_rows(out, statuses);
	fputs(".SH EXAMPLES\n.nf\n", out);
	for (const char *const *e = examples; *e; e++) {
		roff(out, *e);
		fputc('\n', out);
	}
	fputs(".fi\n.SH SEE ALSO\n.BR rdma_lat (1),\n.BR ibv_devinfo (1)\n", out);
}
