/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The names a SPEC may use for completion statuses, events, errnos and verbs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "spec_parse.h"

#define WC(name) { #name, IBV_WC_##name }
const struct spec_name spec_wc_names[] = {
	WC(LOC_LEN_ERR), WC(LOC_QP_OP_ERR), WC(LOC_EEC_OP_ERR), WC(LOC_PROT_ERR),
	WC(WR_FLUSH_ERR), WC(MW_BIND_ERR), WC(BAD_RESP_ERR), WC(LOC_ACCESS_ERR),
	WC(REM_INV_REQ_ERR), WC(REM_ACCESS_ERR), WC(REM_OP_ERR), WC(RETRY_EXC_ERR),
	WC(RNR_RETRY_EXC_ERR), WC(LOC_RDD_VIOL_ERR), WC(REM_INV_RD_REQ_ERR),
	WC(REM_ABORT_ERR), WC(INV_EECN_ERR), WC(INV_EEC_STATE_ERR), WC(FATAL_ERR),
	WC(RESP_TIMEOUT_ERR), WC(GENERAL_ERR), { NULL, 0 },
};

#define EVENT(name) { #name, IBV_EVENT_##name }
const struct spec_name spec_event_names[] = {
	EVENT(CQ_ERR), EVENT(QP_FATAL), EVENT(QP_REQ_ERR), EVENT(QP_ACCESS_ERR),
	EVENT(COMM_EST), EVENT(SQ_DRAINED), EVENT(PATH_MIG), EVENT(PATH_MIG_ERR),
	EVENT(DEVICE_FATAL), EVENT(PORT_ACTIVE), EVENT(PORT_ERR), EVENT(LID_CHANGE),
	EVENT(PKEY_CHANGE), EVENT(SM_CHANGE), EVENT(SRQ_ERR), EVENT(SRQ_LIMIT_REACHED),
	EVENT(QP_LAST_WQE_REACHED), EVENT(CLIENT_REREGISTER), EVENT(GID_CHANGE), { NULL, 0 },
};

#define ERRNO(name) { #name, name }
const struct spec_name spec_errno_names[] = {
	ERRNO(EPERM), ERRNO(ENOENT), ERRNO(EINTR), ERRNO(EIO), ERRNO(ENXIO), ERRNO(EAGAIN),
	ERRNO(ENOMEM), ERRNO(EACCES), ERRNO(EFAULT), ERRNO(EBUSY), ERRNO(ENODEV), ERRNO(EINVAL),
	ERRNO(EMFILE), ERRNO(ENOSPC), ERRNO(ERANGE), ERRNO(ENOSYS), ERRNO(ENODATA),
	ERRNO(EPROTONOSUPPORT), ERRNO(EOPNOTSUPP), ERRNO(ENOBUFS), ERRNO(ETIMEDOUT), { NULL, 0 },
};

#define CALL(name) { #name, SPEC_CALL_##name },
const struct spec_name spec_call_names[] = { SPEC_CALLS(CALL) { NULL, 0 } };

int spec_lookup(const struct spec_name *tab, const char *prefix, struct spec_tok t)
{
	struct spec_tok head = { .s = t.s, .n = strlen(prefix) };

	if (t.n > head.n && spec_is(head, prefix))
		t = spec_skip(t, head.n);
	for (; tab->name; tab++)
		if (spec_is(t, tab->name))
			return tab->value;
	return -1;
}

/* All names in one string; the last ones give way to "..." when the buffer is short. */
const char *spec_names(const struct spec_name *tab, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = 0;
	for (; tab->name; tab++) {
		if (n + strlen(tab->name) + 8 > size) {
			snprintf(buf + n, size - n, ", ...");
			break;
		}
		n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", tab->name);
	}
	return buf;
}
