/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the command softverbs says of itself and of the keys of a SPEC. */
#ifndef SOFTVERBS_SPEC_TEXT_H
#define SOFTVERBS_SPEC_TEXT_H

#include <stdio.h>

void spec_help(FILE *out);
void spec_man(FILE *out);	/* the manual page, as roff */

#endif
