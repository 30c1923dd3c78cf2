/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* softverbs [-d SPEC] CMD ARGS...: runs CMD with the software devices of SPEC in front. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "spec.h"

enum { FAILED = 1, MISUSE = 2, CANNOT_RUN = 126, NOT_FOUND = 127 };

/* Beside the command: ../lib, both in the build tree and where it was installed. */
static int library_path(char out[PATH_MAX])
{
	char exe[PATH_MAX], lib[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n < 0) {
		fprintf(stderr, "softverbs: readlink /proc/self/exe: %s\n", strerror(errno));
		return -1;
	}
	exe[n] = 0;
	slash = strrchr(exe, '/');
	*slash = 0;
	snprintf(lib, sizeof(lib), "%s/../lib/libsoftverbs.so", exe);
	if (!realpath(lib, out)) {
		fprintf(stderr, "softverbs: %s: %s; build or install it beside this command\n", lib,
			strerror(errno));
		return -1;
	}
	/* The loader takes both as separators, and there is no way to quote them. */
	if (strpbrk(out, " :")) {
		fprintf(stderr, "softverbs: %s: LD_PRELOAD cannot hold a path with a space or a "
			"colon; move the tree\n", out);
		return -1;
	}
	return 0;
}

static int check_delay(struct dist *d)
{
	const char *path;
	size_t line;
	int rc = dist_open(d, &path, &line);

	if (!rc)
		return 0;
	if (line)
		fprintf(stderr, "softverbs: %s:%zu: no time; allowed: a number of ns, or 2us\n",
			path, line);
	else
		fprintf(stderr, "softverbs: delay file %s: %s\n", path,
			rc == -EINVAL ? "no sample in it" : strerror(-rc));
	return -1;
}

/* Here a mistake costs one line; in the program it would look like a missing device. */
static int check_spec(const char *text)
{
	struct spec_error err;
	struct spec s;
	int rc = 0;

	if (spec_parse(text, &s, &err)) {
		fprintf(stderr, "softverbs: SPEC %s\n", err.text);
		return -1;
	}
	for (int i = 0; i < s.ndev && !rc; i++) {
		struct spec_device *d = &s.dev[i];

		rc = check_delay(&d->delay) || check_delay(&d->out) || check_delay(&d->back);
	}
	spec_free(&s);
	return rc ? -1 : 0;
}

/* In front of what is preloaded already, so that its own calls come to us as well. */
static int set_environment(const char *spec, const char *lib)
{
	const char *old = getenv("LD_PRELOAD");
	char *preload = NULL;
	int rc;

	if (asprintf(&preload, "%s%s%s", lib, old && *old ? ":" : "", old ? old : "") < 0)
		preload = NULL;
	rc = !preload || setenv("SOFTVERBS", spec, 1) || setenv("LD_PRELOAD", preload, 1);
	if (rc)
		fprintf(stderr, "softverbs: setenv: %s\n", strerror(errno));
	free(preload);
	return rc ? -1 : 0;
}

static int run(char **cmd)
{
	int err;

	execvp(cmd[0], cmd);
	err = errno;
	fprintf(stderr, "softverbs: %s: %s\n", cmd[0], strerror(err));
	return err == ENOENT ? NOT_FOUND : CANNOT_RUN;
}

static int say(void (*text)(FILE *out))
{
	text(stdout);
	return fflush(stdout) || ferror(stdout) ? FAILED : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ "man", no_argument, NULL, 'm' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	const char *spec = getenv("SOFTVERBS");
	char lib[PATH_MAX];
	int c;

	while ((c = getopt_long(argc, argv, "+d:hV", options, NULL)) != -1) {
		if (c == 'h')
			return say(help_print);
		if (c == 'm')
			return say(help_man);
		if (c == 'V')
			return printf("softverbs %s\n", VERBSPERF_VERSION) < 0;
		if (c != 'd') {
			fputs("usage: softverbs [-d SPEC] CMD [ARGS...]; softverbs -h says more\n",
			      stderr);
			return MISUSE;
		}
		spec = optarg;
	}
	if (!spec || !*spec)
		spec = "soft0";
	if (optind == argc) {
		fputs("softverbs: no command; usage: softverbs [-d SPEC] CMD [ARGS...]\n", stderr);
		return MISUSE;
	}
	if (check_spec(spec))
		return MISUSE;
	if (library_path(lib) || set_environment(spec, lib))
		return FAILED;
	return run(argv + optind);
}
