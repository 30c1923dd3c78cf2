/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const struct output *o, int errnum, struct error *err)
{
	const char *name = strcmp(o->path, "-") ? o->path : "stdout";

	return error_set(err, EXIT_FAILED, errnum, "writing %s", name);
}

int output_open(struct output *o, const char *path, struct error *err)
{
	struct stat st;
	bool direct;

	o->path = path;
	o->temporary[0] = '\0';
	o->f = stdout;
	if (!strcmp(path, "-")) {
		clearerr(stdout);
		return 0;
	}
	/* Renaming over /dev/null would replace the device. */
	direct = !stat(path, &st) && !S_ISREG(st.st_mode);
	if (!direct && (size_t)snprintf(o->temporary, sizeof(o->temporary), "%s.%ld.tmp", path,
					(long)getpid()) >= sizeof(o->temporary))
		return failed(o, ENAMETOOLONG, err);
	o->f = fopen(direct ? path : o->temporary, "we");
	return o->f ? 0 : failed(o, errno, err);
}

/* Everything is where it should be: 0 or errno. */
static int finish(struct output *o)
{
	int rc = 0;

	errno = 0;
	if (fflush(o->f) || ferror(o->f))
		rc = errno ? errno : EIO;
	if (!rc && o->temporary[0] && fsync(fileno(o->f)))
		rc = errno;
	if (o->f != stdout && fclose(o->f) && !rc)
		rc = errno;
	if (!rc && o->temporary[0] && rename(o->temporary, o->path))
		rc = errno;
	return rc;
}

int output_close(struct output *o, struct error *err)
{
	int rc = finish(o);

	if (rc && o->temporary[0])
		unlink(o->temporary);
	/* `| head` has read what it wanted; a write that failed before leaves no errno here. */
	if (!rc || rc == EPIPE || (o->f == stdout && rc == EIO))
		return 0;
	return failed(o, rc, err);
}

int output_json(const char *path, const json_t *doc, struct error *err)
{
	struct output o;

	if (output_open(&o, path, err))
		return -1;
	json_dumpf(doc, o.f, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	fputc('\n', o.f);
	return output_close(&o, err);
}
