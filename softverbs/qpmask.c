/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which attributes a transition needs and which it may have: IBTA volume 1, 11.2.5.2, table
 * "QP State Transition Properties". A transition that is not listed is not allowed.
 */
#include <errno.h>

#include "pd.h"

#define PKEY IBV_QP_PKEY_INDEX
#define PORT IBV_QP_PORT
#define QKEY IBV_QP_QKEY
#define ACC IBV_QP_ACCESS_FLAGS
#define CUR IBV_QP_CUR_STATE
#define ALT (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define CONN (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RETRY (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define TIMER IBV_QP_MIN_RNR_TIMER

struct transition {
	uint8_t from, to;
	int must[3], may[3];	/* RC, UC, UD */
};

static const struct transition table[] = {
	{ IBV_QPS_RESET, IBV_QPS_RESET, { 0 }, { 0 } },
	{ IBV_QPS_RESET, IBV_QPS_INIT,
	  { PKEY | PORT | ACC, PKEY | PORT | ACC, PKEY | PORT | QKEY }, { 0 } },
	{ IBV_QPS_INIT, IBV_QPS_INIT, { 0 },
	  { PKEY | PORT | ACC, PKEY | PORT | ACC, PKEY | PORT | QKEY } },
	{ IBV_QPS_INIT, IBV_QPS_RTR,
	  { CONN | IBV_QP_MAX_DEST_RD_ATOMIC | TIMER, CONN, 0 },
	  { ALT | ACC | PKEY, ALT | ACC | PKEY, PKEY | QKEY } },
	{ IBV_QPS_RTR, IBV_QPS_RTS,
	  { RETRY | IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN },
	  { CUR | ALT | ACC | TIMER, CUR | ALT | ACC, CUR | QKEY } },
	{ IBV_QPS_RTS, IBV_QPS_RTS, { 0 },
	  { CUR | ALT | ACC | TIMER, CUR | ALT | ACC, CUR | QKEY } },
	{ IBV_QPS_RTS, IBV_QPS_SQD, { 0 },
	  { IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY } },
	{ IBV_QPS_SQD, IBV_QPS_RTS, { 0 },
	  { CUR | ALT | ACC | TIMER, CUR | ALT | ACC, CUR | QKEY } },
	{ IBV_QPS_SQD, IBV_QPS_SQD, { 0 },
	  { PORT | IBV_QP_AV | RETRY | IBV_QP_MAX_DEST_RD_ATOMIC | ALT | ACC | PKEY | TIMER,
	    IBV_QP_AV | ALT | ACC | PKEY, PKEY | QKEY } },
	{ IBV_QPS_SQE, IBV_QPS_RTS, { -1, 0, 0 }, { 0, CUR | ACC, CUR | QKEY } },
};

int sv_qp_check_mask(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	int k = type == IBV_QPT_RC ? 0 : type == IBV_QPT_UC ? 1 : 2;

	mask &= ~IBV_QP_STATE;
	/* From everywhere to RESET and ERR, with nothing else (the current state may be told). */
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return mask & ~IBV_QP_CUR_STATE ? EINVAL : 0;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct transition *t = &table[i];

		if (t->from != from || t->to != to || t->must[k] < 0)
			continue;
		return (mask & t->must[k]) == t->must[k] && !(mask & ~(t->must[k] | t->may[k])) ?
		       0 : EINVAL;
	}
	return EINVAL;
}
