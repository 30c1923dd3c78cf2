/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fork, as with fork support of real verbs: registered pages are the parent's alone, the child
 * must not use the parent's objects, and may open the device anew. Pages that only touch a
 * registration hold other data of the program: the child gets a copy of those.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "chunk.h"
#include "obj.h"
#include "peer.h"
#include "work.h"

static __thread bool forking;	/* see sv_pages_fork_child: plain variables may not be there */

static void prepare(void)
{
	forking = sv_me != 0;
	if (!forking)
		return;
	sv_pages_fork_prepare();
	sv_work_pause();
}

static void parent(void)
{
	if (!forking)
		return;
	sv_work_resume();
	sv_pages_fork_parent();
}

static void child(void)
{
	if (!forking)
		return;
	sv_pages_fork_child();
	sv_work_forget();
	sv_pages_forget();
	sv_self_forget();
}

__attribute__((constructor)) static void fork_init(void)
{
	pthread_atfork(prepare, parent, child);
}

__attribute__((destructor)) static void leave(void)
{
	sv_fabric_detach();
}
