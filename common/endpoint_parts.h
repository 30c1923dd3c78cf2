/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the files of endpoint; no one else includes this. */
#ifndef COMMON_ENDPOINT_PARTS_H
#define COMMON_ENDPOINT_PARTS_H

#include "endpoint.h"

/* EXIT_MISUSE and the option that is to blame when the device cannot do what is wished for. */
int endpoint_check_limits(const struct endpoint *e, const struct endpoint_wish *wish,
			  struct error *err);
/* Between two QPs: on a terminal, once a kind of deed ("connecting"), when all takes over 1 s. */
void endpoint_progress(struct endpoint *e, const char *deed, unsigned int qps,
		       const struct error *err);
/* Channel, CQs, SRQ. */
int endpoint_open_cqs(struct endpoint *e, const struct endpoint_wish *wish, struct error *err);

#endif
