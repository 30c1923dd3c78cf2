/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "series.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "samples.h"

/* What the series of a file point to. */
struct series_file {
	char *name;
	int fd;
	struct dump *dump; /* alone, so that it stays where it is */
	struct listing listing;
};

/* A pipe cannot be read twice: its bytes go to memory. Returns the new fd or -1. */
static int copy_pipe(int fd, const char *name, struct error *err)
{
	int copy = memfd_create("verbsperf", MFD_CLOEXEC);
	char buf[65536];
	ssize_t n;

	if (copy < 0)
		return error_set(err, EXIT_FAILED, errno, "reading %s", name);
	while ((n = read(fd, buf, sizeof(buf)))) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || write(copy, buf, (size_t)n) != n) {
			error_set(err, EXIT_FAILED, errno, "reading %s", name);
			close(copy);
			return -1;
		}
	}
	return copy;
}

/* A regular file, or a copy in memory. Returns the fd or -1. */
static int open_input(const char *path, struct error *err)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC), copy;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		error_set(err, EXIT_MISUSE, errno, "%s", path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (S_ISDIR(st.st_mode)) {
		close(fd);
		return error_set(err, EXIT_MISUSE, 0, "%s is a directory; name the files in it",
				 path);
	}
	if (S_ISREG(st.st_mode))
		return fd;
	copy = copy_pipe(fd, path, err);
	close(fd);
	return copy;
}

static struct series *add_series(struct series_set *set, const char *file, struct error *err)
{
	struct series *more = realloc(set->v, (set->count + 1) * sizeof(*more));

	if (!more) {
		error_set(err, EXIT_FAILED, ENOMEM, "%s", file);
		return NULL;
	}
	set->v = more;
	more += set->count++;
	*more = (struct series){ .file = file, .run = 1, .whole = 1, .hz = NAN };
	return more;
}

/* Samples without those of lost laps, and the laps that they belong to: in memory. */
static int leave_out_lost(struct series *s, struct error *err)
{
	const struct dump_series *d = s->stamps;
	uint64_t n = 0, *post = malloc((size_t)(s->n + 1) * sizeof(*post));
	uint64_t *seen = s->paced ? malloc((size_t)(s->n + 1) * sizeof(*seen)) : NULL;
	int rc = -1;

	s->lap = malloc((size_t)(s->n + 1) * sizeof(*s->lap));
	if (!post || !s->lap || (s->paced && !seen))
		error_set(err, EXIT_FAILED, ENOMEM, "%s", s->file);
	else if (!dump_read(s->dump, d, DUMP_POST, d->warmup, (size_t)s->n + !s->paced, post, err))
		rc = seen ? dump_read(s->dump, d, DUMP_SEEN, d->warmup, (size_t)s->n, seen, err)
			  : 0;
	for (uint64_t k = 0; !rc && k < s->n; k++) {
		uint64_t from = post[k], to = seen ? seen[k] : post[k + 1] & ~DUMP_LOST;

		if (from & DUMP_LOST)
			continue;
		s->lap[n] = k;
		post[n++] = to > from ? to - from : 0;
	}
	free(seen);
	s->v = post;
	s->n = n;
	return rc;
}

static int add_stamps(struct series_set *set, const struct dump *d, const struct dump_series *from,
		      struct error *err)
{
	uint64_t stamps = from->count[DUMP_POST];
	struct series *s = add_series(set, d->name, err);

	if (!s)
		return -1;
	s->known = s->ours = true;
	s->server = from->role == DUMP_SERVER;
	s->paced = from->ends_seen;
	s->detail = from->count[DUMP_SEEN] == from->laps && from->count[DUMP_GAP] == from->laps &&
		    !from->lost && !s->paced;
	s->hz = dump_hz(d, from->role);
	s->kind = from->kind;
	s->factor = latency_factor(from->kind);
	s->size = from->size;
	s->run = from->run;
	s->warmup = from->warmup;
	s->lost = from->lost;
	s->dump = d;
	s->stamps = from;
	if (s->paced)
		s->n = stamps <= from->warmup ? 0 : from->laps - from->warmup;
	else
		s->n = samples_count((size_t)stamps, (size_t)from->warmup);
	return s->lost && s->n ? leave_out_lost(s, err) : 0;
}

/* The answers of a server whose client did something between laps say when it posted, no more. */
static void silence_paced_servers(struct series_set *set, const struct dump *d)
{
	for (size_t i = 0; i < set->count * set->count; i++) {
		const struct series *client = &set->v[i / set->count];
		struct series *server = &set->v[i % set->count];

		if (client->dump == d && server->dump == d && client->paced && server->server &&
		    client->size == server->size && client->run == server->run) {
			server->paced = true;
			server->n = 0;
		}
	}
}

static int add_dump(struct series_set *set, struct series_file *f, struct error *err)
{
	bool paced = false;
	f->dump = calloc(1, sizeof(*f->dump));
	if (!f->dump)
		return error_set(err, EXIT_FAILED, ENOMEM, "%s", f->name);
	if (dump_open(f->dump, f->fd, f->name, err))
		return -1;
	for (unsigned int i = 0; i < f->dump->count; i++) {
		if (add_stamps(set, f->dump, &f->dump->series[i], err))
			return -1;
		paced |= f->dump->series[i].ends_seen;
	}
	if (paced)
		silence_paced_servers(set, f->dump);
	return 0;
}

/* The same samples, of -U and of -H. */
static bool comes_unsorted(const struct listing *l, const struct listing_block *b)
{
	for (unsigned int i = 0; b->sorted && i < l->count; i++)
		if (!l->block[i].sorted && l->block[i].n == b->n && l->block[i].size == b->size)
			return true;
	return false;
}

static int add_block(struct series_set *set, const struct series_file *f,
		     const struct listing_block *b, struct error *err)
{
	const struct listing *l = &f->listing;
	struct series *s = add_series(set, f->name, err);

	if (!s)
		return -1;
	s->known = l->role != LISTING_UNKNOWN;
	s->server = l->role == LISTING_SERVER;
	s->ours = l->ours;
	s->sorted = b->sorted;
	s->detail = b->detail;
	s->usec = b->usec;
	s->hz = b->usec ? LISTING_USEC_HZ : l->hz;
	s->kind = l->full ? LATENCY_FULL_RTT : LATENCY_HALF_RTT;
	s->factor = 1; /* as printed */
	s->whole = l->full ? 1 : 2;
	s->size = b->size;
	s->n = b->n;
	s->missing = b->missing;
	s->v = b->v;
	s->wait = b->wait;
	s->gap = b->gap;
	return 0;
}

static int add_listing(struct series_set *set, struct series_file *f, struct error *err)
{
	FILE *text = fdopen(f->fd, "r");
	int rc;

	if (!text || fseek(text, 0, SEEK_SET))
		rc = error_set(err, EXIT_FAILED, errno, "reading %s", f->name);
	else
		rc = listing_read(&f->listing, text, f->name, err);
	if (text) {
		fclose(text);
		f->fd = -1;
	}
	for (unsigned int i = 0; !rc && i < f->listing.count; i++)
		if (!comes_unsorted(&f->listing, &f->listing.block[i]))
			rc = add_block(set, f, &f->listing.block[i], err);
	return rc;
}

int series_load(struct series_set *set, const char *path, struct error *err)
{
	struct series_file *f = realloc(set->file, (set->files + 1) * sizeof(*f));
	char start[sizeof(DUMP_MAGIC)];
	ssize_t n;

	if (!f)
		return error_set(err, EXIT_FAILED, ENOMEM, "%s", path);
	set->file = f;
	f += set->files++;
	*f = (struct series_file){ .fd = -1, .name = strdup(path) };
	if (!f->name)
		return error_set(err, EXIT_FAILED, ENOMEM, "%s", path);
	f->fd = open_input(path, err);
	if (f->fd < 0)
		return -1;
	n = pread(f->fd, start, sizeof(start), 0);
	if (n < 0)
		return error_set(err, EXIT_FAILED, errno, "reading %s", path);
	return dump_recognise(start, (size_t)n) ? add_dump(set, f, err) : add_listing(set, f, err);
}

void series_close(struct series_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->v[i].dump) /* a text's belong to its listing */
			free(set->v[i].v);
		free(set->v[i].lap);
	}
	for (size_t i = 0; i < set->files; i++) {
		struct series_file *f = &set->file[i];

		if (f->dump)
			dump_close(f->dump);
		free(f->dump);
		listing_close(&f->listing);
		if (f->fd >= 0)
			close(f->fd);
		free(f->name);
	}
	free(set->v);
	free(set->file);
	*set = (struct series_set){ .count = 0 };
}

/* Samples from post to seen; out holds the posts first. */
static int read_paced(const struct series *s, uint64_t at, size_t n, uint64_t *out,
		      uint64_t *backwards, struct error *err)
{
	uint64_t seen[512];

	if (dump_read(s->dump, s->stamps, DUMP_POST, at, n, out, err))
		return -1;
	for (size_t i = 0; i < n;) {
		size_t now = n - i < 512 ? n - i : 512;

		if (dump_read(s->dump, s->stamps, DUMP_SEEN, at + i, now, seen, err))
			return -1;
		for (size_t k = 0; k < now; k++, i++) {
			*backwards += seen[k] < out[i];
			out[i] = seen[k] < out[i] ? 0 : seen[k] - out[i];
		}
	}
	return 0;
}

int series_read(const struct series *s, uint64_t first, size_t n, uint64_t *out,
		uint64_t *backwards, struct error *err)
{
	uint64_t back = 0;

	if (s->v) {
		memcpy(out, s->v + first, n * sizeof(*out));
		return 0;
	}
	if (s->paced)
		return read_paced(s, s->warmup + first, n, out, backwards, err);
	if (dump_read(s->dump, s->stamps, DUMP_POST, s->warmup + first, n + 1, out, err))
		return -1;
	samples_from_stamps(out, n + 1, 0, out, &back);
	*backwards += back;
	return 0;
}

uint64_t series_lap(const struct series *s, uint64_t k)
{
	return s->lap ? s->lap[k] : k;
}

static bool same_run(const struct series *a, const struct series *b)
{
	return b->known && b->ours && !b->sorted && !b->paced && b->n && !b->missing &&
	       b->size == a->size && b->run == a->run && b->dump == a->dump;
}

const struct series *series_partner(const struct series_set *set, const struct series *s)
{
	const struct series *other = NULL;
	size_t own = 0, others = 0;

	if (!same_run(s, s))
		return NULL;
	for (size_t i = 0; i < set->count; i++) {
		const struct series *o = &set->v[i];

		if (!same_run(s, o))
			continue;
		own += o->server == s->server;
		others += o->server != s->server;
		other = o->server != s->server ? o : other;
	}
	/* Texts of several runs: nobody knows which belong together. */
	return own == 1 && others == 1 ? other : NULL;
}
