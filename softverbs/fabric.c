/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peer.h"
#include "work.h"

#define MAGIC "SOFTVRB\n"
#define OTHER_BUILD "of another build of softverbs, whose layout differs; use one build for all, " \
	"or end its processes and remove it"

struct sv_fabric *sv_fabric;
uint32_t sv_me;
static char dir_path[64];

bool sv_lock_slow(struct sv_lock *l)
{
	unsigned int n = 0;

	for (;;) {
		uint32_t w = __atomic_load_n(&l->word, __ATOMIC_RELAXED);

		if (!w && sv_trylock(l))
			return false;
		if (w && sv_fabric && !sv_alive(w) &&
		    __atomic_compare_exchange_n(&l->word, &w, sv_me, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		/* The owner may be waiting for this very core. */
		if (++n % 64 == 0)
			sched_yield();
		else
			sv_pause();
	}
}

static int refuse(const char *what, const char *why)
{
	fprintf(stderr, "softverbs: %s/fabric: %s: %s\n", dir_path, what, why);
	return EPERM;
}

/* SOFTVERBS_FABRIC=NAME keeps the processes of one experiment (or test) among themselves. */
static int name_dir(void)
{
	const char *name = getenv("SOFTVERBS_FABRIC");
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	if (!name || !*name)
		name = "";
	snprintf(dir_path, sizeof(dir_path), "/dev/shm/softverbs-%u%s%s", (unsigned int)geteuid(),
		 *name ? "-" : "", name);
	if (strlen(name) <= 24 && strspn(name, plain) == strlen(name))
		return 0;
	fprintf(stderr, "softverbs: SOFTVERBS_FABRIC: at most 24 letters, digits and _\n");
	return -1;
}

/* The directory, locked: opened or made, ours alone, and not just removed by the last process. */
static int lock_dir(void)
{
	struct stat st;
	int fd;

	if (name_dir())
		return -1;
	for (;;) {
		if (mkdir(dir_path, 0700) && errno != EEXIST) {
			refuse("mkdir", strerror(errno));
			return -1;
		}
		fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || fstat(fd, &st)) {
			refuse("open of the directory", strerror(errno));
			break;
		}
		if (st.st_uid != geteuid() || (st.st_mode & 077)) {
			refuse("the directory", "not of this user alone; remove it");
			break;
		}
		while (flock(fd, LOCK_EX) && errno == EINTR)
			;
		if (!fstat(fd, &st) && st.st_nlink)
			return fd;
		close(fd);
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static void format(struct sv_fabric *f)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	for (int i = 0; i < SV_SLOTS; i++)
		pthread_mutex_init(&f->slot[i].life, &attr);
	pthread_mutexattr_destroy(&attr);
	f->abi = sv_abi();
	f->size = sizeof(*f);
	memcpy(f->magic, MAGIC, 8);
}

static int check_file(int fd, bool *fresh)
{
	struct stat st;

	if (fstat(fd, &st))
		return refuse("fstat", strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return refuse("the segment", "not a file of this user alone; remove it");
	*fresh = st.st_size == 0;
	if (*fresh && ftruncate(fd, sizeof(struct sv_fabric)))
		return refuse("ftruncate", strerror(errno));
	if (!*fresh && st.st_size != sizeof(struct sv_fabric))
		return refuse("the segment", OTHER_BUILD);
	return 0;
}

static int map_segment(int dir)
{
	int fd = openat(dir, "fabric", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct sv_fabric *f;
	bool fresh;
	int ret;

	if (fd < 0)
		return refuse("open", strerror(errno));
	ret = check_file(fd, &fresh);
	f = ret ? MAP_FAILED : mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (f == MAP_FAILED)
		return ret ? ret : refuse("mmap", strerror(errno));
	if (fresh)
		format(f);
	if (memcmp(f->magic, MAGIC, 8) || f->abi != sv_abi() || f->size != sizeof(*f)) {
		munmap(f, sizeof(*f));
		return refuse("the segment", OTHER_BUILD);
	}
	madvise(f, sizeof(*f), MADV_DONTFORK);
	sv_fabric = f;
	return 0;
}

/* Entries of processes that are gone; of this one too, when it leaves. */
static void clear_tables(uint32_t leaver)
{
	sv_lock(&sv_fabric->lock);
	for (int i = 0; i < SV_QPNS; i++) {
		struct sv_qpn *q = &sv_fabric->qpn[i];

		if (q->owner && (q->owner == leaver || !sv_alive(q->owner)))
			q->owner = 0;
	}
	for (uint32_t i = 0; i < sv_fabric->ngroups; i++) {
		struct sv_group *g = &sv_fabric->group[i];

		if (g->qpn && !sv_fabric->qpn[g->qpn & 0xffff].owner)
			g->qpn = 0;
	}
	sv_unlock(&sv_fabric->lock);
}

/* What a process that died left in the tables. Under the directory lock. */
static void reclaim(void)
{
	bool dead = false;

	for (int i = 0; i < SV_SLOTS; i++) {
		struct sv_slot *s = &sv_fabric->slot[i];

		if (s->owner && !sv_alive(s->owner)) {
			__atomic_store_n(&s->owner, 0, __ATOMIC_RELEASE);
			dead = true;
		}
	}
	if (dead)
		clear_tables(0);
}

int sv_slot_take(void)
{
	for (int i = 0; i < SV_SLOTS; i++) {
		struct sv_slot *s = &sv_fabric->slot[i];
		int ret;

		if (s->owner)
			continue;
		ret = pthread_mutex_trylock(&s->life);
		if (ret == EOWNERDEAD)
			ret = pthread_mutex_consistent(&s->life);
		if (ret)
			continue;
		s->gen = (s->gen + 1) & ((1u << (32 - SV_SLOT_BITS)) - 1);
		if (!s->gen)
			s->gen = 1;
		sv_me = s->gen << SV_SLOT_BITS | (uint32_t)i;
		return 0;
	}
	return EAGAIN;
}

static void publish(void)
{
	struct sv_slot *s = &sv_fabric->slot[sv_me % SV_SLOTS];

	s->pid = getpid();
	sv_self_publish(s);
	__atomic_store_n(&s->owner, sv_me, __ATOMIC_RELEASE);
}

static int attach(void)
{
	int dir = lock_dir(), ret;

	if (dir < 0)
		return EPERM;
	ret = sv_fabric ? 0 : map_segment(dir);
	if (!ret) {
		reclaim();
		ret = sv_work_start();	/* its thread calls sv_slot_take */
		if (ret)
			fprintf(stderr, "softverbs: cannot take a slot of the fabric: %s\n",
				strerror(ret));
	}
	if (!ret)
		ret = sv_self_init();
	if (!ret)
		publish();
	else
		sv_me = 0;
	close(dir);
	return ret;
}

int sv_fabric_attach(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int ret;

	pthread_mutex_lock(&mutex);
	ret = sv_me ? 0 : attach();
	pthread_mutex_unlock(&mutex);
	return ret;
}

/* The last one removes the segment; processes killed meanwhile do not count. */
void sv_fabric_detach(void)
{
	int dir, users = 0;

	if (!sv_me)
		return;
	dir = lock_dir();
	clear_tables(sv_me);
	__atomic_store_n(&sv_fabric->slot[sv_me % SV_SLOTS].owner, 0, __ATOMIC_RELEASE);
	if (dir < 0)
		return;
	for (int i = 0; i < SV_SLOTS; i++)
		users += sv_fabric->slot[i].owner && sv_alive(sv_fabric->slot[i].owner);
	if (!users) {
		unlinkat(dir, "fabric", 0);
		rmdir(dir_path);
	}
	close(dir);
}
