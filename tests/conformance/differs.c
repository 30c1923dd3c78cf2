/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a device is known not to follow the clause. doc/conformance.md tells the same in prose. */
#include <stddef.h>

#include "conf.h"

const struct difference differences[] = {
	{ NULL, NULL, NULL },
};
