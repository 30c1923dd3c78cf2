/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "work.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data.h"

/*
 * The helper would disturb a program that polls, so it leaves it this much time to do its own
 * work; not when a CQ is armed, nor once it found that the program does not poll.
 */
#define GRACE 500000ull
#define GRACE_MAX 16000000ull	/* it grows as long as the program is seen to poll */
#define LATE 200000ull
#define LINGER 20
#define NEAR 300ull	/* so close that a poll waits for it, rather than be late by a poll */

uint32_t sv_work_count;
static struct sv_qp *list;
static struct sv_lock list_lock;
static pthread_mutex_t run_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_due = UINT64_MAX;	/* the earliest of the list, or before it */
static uint64_t planned;		/* when the helper looks again, 0: it is at it */
static uint64_t grace = GRACE;
static uint32_t futex_word, own_runs, polled;
static bool precise;	/* a hint between threads: no order is needed */

static bool is_precise(void)
{
	return __atomic_load_n(&precise, __ATOMIC_RELAXED);
}

static void set_precise(bool on)
{
	__atomic_store_n(&precise, on, __ATOMIC_RELAXED);
}

static uint64_t get_grace(void)
{
	return __atomic_load_n(&grace, __ATOMIC_RELAXED);
}

/* Each look of the helper costs a program that polls some microseconds: ever fewer. */
static void adapt(void)
{
	static uint32_t before;
	uint32_t now = __atomic_load_n(&polled, __ATOMIC_RELAXED);
	uint64_t g = now != before ? 2 * get_grace() : GRACE;

	before = now;
	__atomic_store_n(&grace, g < GRACE_MAX ? g : GRACE_MAX, __ATOMIC_RELAXED);
}

static void futex_wait(uint32_t value, uint64_t until)
{
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000u),
			       .tv_nsec = (long)(until % 1000000000u) };

	syscall(SYS_futex, &futex_word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value,
		until == UINT64_MAX ? NULL : &ts, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void futex_wake(void)
{
	__atomic_add_fetch(&futex_word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &futex_word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

void sv_work_precise(void)
{
	if (is_precise())
		return;
	__atomic_store_n(&precise, true, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&sv_work_count, __ATOMIC_SEQ_CST))
		futex_wake();
}

void sv_work_add(struct sv_qp *qp, uint64_t due)
{
	bool wake;

	sv_lock(&list_lock);
	qp->work_due = due;
	if (!qp->in_work) {
		qp->in_work = true;
		qp->work_next = list;
		list = qp;
		__atomic_add_fetch(&sv_work_count, 1, __ATOMIC_SEQ_CST);
	}
	if (due < next_due)
		__atomic_store_n(&next_due, due, __ATOMIC_SEQ_CST);
	wake = __atomic_load_n(&planned, __ATOMIC_SEQ_CST) >
	       due + (is_precise() ? 0 : 2 * get_grace());
	if (wake)	/* once: it is on its way */
		__atomic_store_n(&planned, 0, __ATOMIC_SEQ_CST);
	sv_unlock(&list_lock);
	if (wake)
		futex_wake();
}

void sv_work_del(struct sv_qp *qp)
{
	struct sv_qp **at = &list;

	if (!qp->in_work)
		return;
	sv_lock(&list_lock);
	while (*at && *at != qp)
		at = &(*at)->work_next;
	if (*at)
		*at = qp->work_next;
	qp->in_work = false;
	__atomic_sub_fetch(&sv_work_count, 1, __ATOMIC_SEQ_CST);
	sv_unlock(&list_lock);
}

/* One QP that is due (nearly), or NULL and then next_due is right again. */
static struct sv_qp *pick(uint64_t now, uint64_t *due)
{
	struct sv_qp *found = NULL;
	uint64_t min = UINT64_MAX;

	sv_lock(&list_lock);
	for (struct sv_qp *qp = list; qp; qp = qp->work_next) {
		if (qp->work_due <= now + NEAR) {
			found = qp;
			*due = qp->work_due;
			qp->work_due = now + NEAR + 1;	/* not again in this round */
			break;
		}
		min = qp->work_due < min ? qp->work_due : min;
	}
	if (!found)
		__atomic_store_n(&next_due, min, __ATOMIC_SEQ_CST);
	sv_unlock(&list_lock);
	return found;
}

/* Who does the work tells whether the program polls: then the helper keeps out of the way. */
static void learn(bool helper, uint64_t late)
{
	if (!helper)
		__atomic_add_fetch(&polled, 1, __ATOMIC_RELAXED);
	if (helper && late > LATE) {
		set_precise(true);
		own_runs = 0;
	} else if (!helper && is_precise() && ++own_runs > 64) {
		set_precise(false);
		own_runs = 0;
	}
}

void sv_work_run(bool helper)
{
	uint64_t now = sv_now(), due = 0;
	struct sv_qp *qp;

	if (__atomic_load_n(&next_due, __ATOMIC_ACQUIRE) > now + NEAR)
		return;
	if (helper)
		pthread_mutex_lock(&run_mutex);
	else if (pthread_mutex_trylock(&run_mutex))
		return;
	while ((qp = pick(now, &due)) != NULL) {
		/* Busy: its owner runs the queue before it lets go. */
		if (!sv_trylock(&qp->lock))
			continue;
		while (sv_now() < due)
			;
		sv_sq_run(qp);
		sv_unlock(&qp->lock);
		learn(helper, now > due ? now - due : 0);
	}
	pthread_mutex_unlock(&run_mutex);
}

void sv_work_pause(void)
{
	pthread_mutex_lock(&run_mutex);
}

void sv_work_resume(void)
{
	pthread_mutex_unlock(&run_mutex);
}

static uint64_t plan(unsigned int *idle)
{
	uint64_t due, now = sv_now();

	if (!__atomic_load_n(&sv_work_count, __ATOMIC_SEQ_CST)) {
		if (++*idle > LINGER)
			return UINT64_MAX;
		return now + 2 * get_grace();
	}
	*idle = 0;
	due = __atomic_load_n(&next_due, __ATOMIC_SEQ_CST);
	if (is_precise())
		return due;
	return due > now + get_grace() ? due + get_grace() / 2 : now + get_grace();
}

struct start {
	sem_t done;
	int ret;
};

static void *helper(void *arg)
{
	struct start *s = arg;
	unsigned int idle = LINGER;

	prctl(PR_SET_NAME, "softverbs");
	prctl(PR_SET_TIMERSLACK, 1);
	s->ret = sv_slot_take();
	if (s->ret) {
		sem_post(&s->done);
		return NULL;
	}
	sem_post(&s->done);
	for (;;) {
		uint32_t word = __atomic_load_n(&futex_word, __ATOMIC_SEQ_CST);
		uint64_t until = plan(&idle), again;

		__atomic_store_n(&planned, until, __ATOMIC_SEQ_CST);
		/* What was added before planned was set is seen by a second look. */
		again = plan(&idle);
		if (again < until && until - again > GRACE)
			continue;
		futex_wait(word, until);
		__atomic_store_n(&planned, 0, __ATOMIC_SEQ_CST);
		sv_work_run(true);
		adapt();
	}
	return NULL;
}

/* Signals belong to the program's threads, and a core that it pinned itself to is not ours. */
static void helper_attr(pthread_attr_t *attr)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	pthread_attr_init(attr);
	pthread_attr_setdetachstate(attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(attr, 256 * 1024);
	pthread_attr_setaffinity_np(attr, sizeof(all), &all);
}

int sv_work_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	static struct start s;
	int ret;

	helper_attr(&attr);
	sem_init(&s.done, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&thread, &attr, helper, &s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (ret)
		return ret;
	while (sem_wait(&s.done) && errno == EINTR)
		;
	return s.ret;
}

/* In a forked child: no helper, nothing waits. */
void sv_work_forget(void)
{
	list = NULL;
	list_lock.word = 0;
	sv_work_count = 0;
	next_due = UINT64_MAX;
	planned = 0;
	set_precise(false);
	pthread_mutex_init(&run_mutex, NULL);
}
