/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the command softverbs says of itself and of the keys of a SPEC. */
#ifndef SOFTVERBS_HELP_H
#define SOFTVERBS_HELP_H

#include <stdio.h>

void help_print(FILE *out);
void help_man(FILE *out);	/* the manual page, as roff */

#endif
