/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *lookup(void *lib, const char *name, const char *version)
{
	return version ? dlvsym(lib, name, version) : dlsym(lib, name);
}

void *sv_real(void **cache, const char *name, const char *version)
{
	void *p = __atomic_load_n(cache, __ATOMIC_ACQUIRE), *lib;

	if (p)
		return p;
	p = lookup(RTLD_NEXT, name, version);
	if (!p) {	/* loaded by dlopen, not in the global scope */
		lib = dlopen("libibverbs.so.1", RTLD_LAZY);
		p = lib ? lookup(lib, name, version) : NULL;
	}
	if (!p) {
		fprintf(stderr, "softverbs: libibverbs has no %s@%s\n", name,
			version ? version : "");
		abort();
	}
	__atomic_store_n(cache, p, __ATOMIC_RELEASE);
	return p;
}
