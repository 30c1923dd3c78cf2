/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef SOFTVERBS_POST_H
#define SOFTVERBS_POST_H

#include "qp.h"

/* The next free WQE for this opcode, under qp->lock: 0, EINVAL or ENOMEM. commit posts it. */
int sv_sq_slot(struct sv_qp *qp, unsigned int opcode, struct sv_wqe **out);
void sv_sq_commit(struct sv_qp *qp, struct sv_wqe *w);

#endif
