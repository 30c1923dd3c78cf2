/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "SVARENA\n"

struct sv_peer_fd {
	int fd;			/* here, -1: not open */
	uint32_t gen;
};

struct sv_peer *sv_self;
static struct sv_peer *peers[SV_SLOTS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int arena_fd = -1, pool_fd = -1;

static int open_remote(pid_t pid, int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return open(path, flags | O_CLOEXEC);
}

/* Only files of a size that this version uses, and of this user, are mapped. */
static void *map_fd(int fd, uint64_t most, uint64_t *mapped)
{
	struct stat st;
	uint64_t size;
	void *p;

	if (fstat(fd, &st) || st.st_uid != geteuid() || st.st_size <= 0 ||
	    (uint64_t)st.st_size > most)
		return NULL;
	size = *mapped = (uint64_t)st.st_size;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_DONTFORK);
	madvise(p, size, MADV_DONTDUMP);
	return p;
}

static void *map_remote(const struct sv_slot *s, int fd, uint64_t most, uint64_t *size)
{
	int here = open_remote(s->pid, fd, O_RDWR);
	void *p;

	if (here < 0)
		return NULL;
	p = map_fd(here, most, size);
	close(here);
	return p;
}

static void peer_free(struct sv_peer *p)
{
	for (int i = 0; i < p->nfds; i++)
		if (p->fds[i].fd >= 0)
			close(p->fds[i].fd);
	free(p->fds);
	if (p->arena)
		munmap(p->arena, p->arena_size);
	if (p->pool)
		munmap(p->pool, p->pool_size);
	free(p);
}

static struct sv_peer *peer_map(uint32_t owner)
{
	struct sv_slot *s = &sv_fabric->slot[owner % SV_SLOTS];
	struct sv_peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->owner = owner;
	p->pid = s->pid;
	p->arena = map_remote(s, s->arena_fd, SV_ARENA_SIZE, &p->arena_size);
	p->pool = map_remote(s, s->pool_fd, SV_POOL_SIZE, &p->pool_size);
	/* The nonce: another PID namespace, or a PID used again, opens something else. */
	if (!p->arena || p->arena_size != SV_ARENA_SIZE ||
	    memcmp(p->arena->magic, MAGIC, 8) || p->arena->abi != sv_abi() ||
	    p->arena->nonce != s->nonce ||
	    !sv_alive(owner)) {
		peer_free(p);
		return NULL;
	}
	return p;
}

/* Memory of the dead is kept only while a QP still looks at it. */
static void sweep(void)
{
	for (int i = 0; i < SV_SLOTS; i++) {
		struct sv_peer *p = peers[i];

		if (p && p != sv_self && !p->refs && !sv_alive(p->owner)) {
			peers[i] = NULL;
			peer_free(p);
		}
	}
}

struct sv_peer *sv_peer_get(uint32_t owner)
{
	struct sv_peer **at = &peers[owner % SV_SLOTS], *p;

	if (!sv_alive(owner))
		return NULL;
	pthread_mutex_lock(&mutex);
	p = *at;
	if (!p || p->owner != owner) {
		sweep();
		p = peer_map(owner);
		if (p)	/* an older one stays alive by its references alone */
			*at = p;
	}
	if (p)
		p->refs++;
	pthread_mutex_unlock(&mutex);
	return p;
}

void sv_peer_put(struct sv_peer *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&mutex);
	if (!--p->refs && peers[p->owner % SV_SLOTS] != p)
		peer_free(p);
	pthread_mutex_unlock(&mutex);
}

static struct sv_peer_fd *fd_entry(struct sv_peer *p, int fd)
{
	if (fd >= p->nfds) {
		int n = fd + 16;
		struct sv_peer_fd *fds = realloc(p->fds, (size_t)n * sizeof(*fds));

		if (!fds)
			return NULL;
		for (int i = p->nfds; i < n; i++)
			fds[i].fd = -1;
		p->fds = fds;
		p->nfds = n;
	}
	return &p->fds[fd];
}

int sv_peer_kick(struct sv_peer *p, int fd, uint32_t gen, const void *msg, size_t len)
{
	struct sv_peer_fd *e;
	struct stat st;
	int ret = -1;

	if (p == sv_self)
		return write(fd, msg, len) == (ssize_t)len ? 0 : -1;
	sv_lock(&p->fd_lock);
	e = fd < 0 ? NULL : fd_entry(p, fd);
	if (e && e->fd >= 0 && e->gen != gen) {
		close(e->fd);
		e->fd = -1;
	}
	if (e && e->fd < 0) {
		/* For reading too: a pipe whose reader died would else raise SIGPIPE here. */
		e->fd = open_remote(p->pid, fd, O_RDWR | O_NONBLOCK);
		e->gen = gen;
		if (e->fd >= 0 && (fstat(e->fd, &st) || !S_ISFIFO(st.st_mode))) {
			close(e->fd);
			e->fd = -1;
		}
	}
	if (e && e->fd >= 0)
		ret = write(e->fd, msg, len) == (ssize_t)len ? 0 : -1;
	sv_unlock(&p->fd_lock);
	return ret;
}

static int make_memfd(const char *name, uint64_t size, int *fd, void **at, uint64_t *mapped)
{
	*fd = memfd_create(name, MFD_CLOEXEC);
	if (*fd < 0 || fchmod(*fd, 0600) || ftruncate(*fd, (off_t)size))
		return errno;
	*at = map_fd(*fd, size, mapped);
	return *at ? 0 : ENOMEM;
}

/* Half as large again and again where address space is short, as under valgrind. */
static int make_pool(struct sv_peer *p)
{
	int ret = ENOMEM;

	for (uint64_t size = SV_POOL_SIZE; ret == ENOMEM && size >= SV_POOL_LEAST; size /= 2) {
		if (pool_fd >= 0)
			close(pool_fd);
		ret = make_memfd("softverbs-memory", size, &pool_fd, (void **)&p->pool,
				 &p->pool_size);
	}
	return ret;
}

int sv_self_init(void)
{
	struct sv_peer *p = calloc(1, sizeof(*p));
	struct sv_arena *a;
	int ret;

	if (!p)
		return ENOMEM;
	ret = make_memfd("softverbs-arena", SV_ARENA_SIZE, &arena_fd, (void **)&p->arena,
			 &p->arena_size);
	if (!ret)
		ret = make_pool(p);
	if (ret) {
		fprintf(stderr, "softverbs: memory to share: %s\n", strerror(ret));
		peer_free(p);
		return ret;
	}
#ifdef PR_SET_PTRACER
	/* Yama, where it is on, else allows process_vm calls between parent and child only. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
	a = p->arena;
	if (getrandom(&a->nonce, sizeof(a->nonce), 0) != sizeof(a->nonce) ||
	    getrandom(&a->key_base, sizeof(a->key_base), 0) != sizeof(a->key_base))
		a->nonce = (uint64_t)getpid() << 32 | sv_me;
	a->key_base &= 0xffffff;
	a->pid = p->pid = getpid();
	a->owner = p->owner = sv_me;
	a->abi = sv_abi();
	memcpy(a->magic, MAGIC, 8);
	p->refs = 1;
	sv_self = p;
	peers[sv_me % SV_SLOTS] = p;
	return 0;
}

void sv_self_publish(struct sv_slot *s)
{
	s->arena_fd = arena_fd;
	s->pool_fd = pool_fd;
	s->nonce = sv_self->arena->nonce;
}

int sv_pool_fd(void)
{
	return pool_fd;
}

/* In a forked child, whose mappings of the fabric are gone already (MADV_DONTFORK). */
void sv_self_forget(void)
{
	for (int i = 0; i < SV_SLOTS; i++)
		if (peers[i]) {
			peers[i]->arena = NULL;
			peers[i]->pool = NULL;
			peer_free(peers[i]);
		}
	if (arena_fd >= 0)
		close(arena_fd);
	if (pool_fd >= 0)
		close(pool_fd);
	arena_fd = pool_fd = -1;
	memset(peers, 0, sizeof(peers));
	pthread_mutex_init(&mutex, NULL);
	sv_self = NULL;
	sv_fabric = NULL;
	sv_me = 0;
	sv_arena_reset();
}
