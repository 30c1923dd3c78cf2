/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *sv_real(void **cache, const char *name, const char *version)
{
	void *p = __atomic_load_n(cache, __ATOMIC_ACQUIRE), *lib;

	if (p)
		return p;
	p = dlvsym(RTLD_NEXT, name, version);
	if (!p) {	/* loaded by dlopen, not in the global scope */
		lib = dlopen("libibverbs.so.1", RTLD_LAZY);
		p = lib ? dlvsym(lib, name, version) : NULL;
	}
	if (!p) {
		fprintf(stderr, "softverbs: libibverbs has no %s@%s\n", name, version);
		abort();
	}
	__atomic_store_n(cache, p, __ATOMIC_RELEASE);
	return p;
}
