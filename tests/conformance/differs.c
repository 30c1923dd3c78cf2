/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a device is known not to follow the clause. doc/conformance.md tells the same in prose. */
#include <stddef.h>

#include "conf.h"

#define RXE(check, instead) { "rxe", check, instead }
#define OP_ERR "the status is LOC_QP_OP_ERR"

/* rxe: soft-RoCE of Linux 6.1 with rdma-core 44. */
const struct difference differences[] = {
	RXE("objects: ibv_query_qp gives the capabilities that were granted",
	    "it gives the size of the rings, which are larger"),
	RXE("states: what was posted in SQD is done when RTS is back",
	    "it waits until something else is posted"),
	RXE("values: a P_Key index behind the table is refused", "it is taken"),
	RXE("values: path MTU 0 is refused", "it is taken"),
	RXE("values: an RNR timer above 31 is refused", "it is taken"),
	RXE("values: a retry count above 7 is refused", "it is taken"),
	RXE("values: an RNR retry count above 7 is refused", "it is taken"),
	RXE("posting: an unknown opcode is refused", "it is taken and fails with LOC_QP_OP_ERR"),
	RXE("atomic: an address that is not a multiple of 8 is an invalid request",
	    "ibv_post_send refuses it with EINVAL"),
	RXE("local: a SEND with a local key never given out is a local protection error", OP_ERR),
	RXE("local: a WRITE with a local key never given out is a local protection error", OP_ERR),
	RXE("local: a local key of another protection domain is a local protection error", OP_ERR),
	RXE("local: a local key is refused once its region is given up", OP_ERR),
	RXE("local: the receiver has a local protection error", OP_ERR),
	RXE("length: a SEND longer than the receive is an invalid request to its sender",
	    "the status is REM_OP_ERR"),
	RXE("length: a SEND longer than the receive is a local length error to its receiver",
	    OP_ERR),
	RXE("length: a message above 2^31 bytes is refused as too long", OP_ERR),
	RXE("flush: a receive posted in ERR is flushed", "it stays in the queue"),
	RXE("uc: a wrong local key is a local protection error", OP_ERR),
	RXE("uc: the QP is in SQE", "the whole QP is in ERR"),
	RXE("ud: what was sent with the own Q_Key is received",
	    "the highest bit means nothing, so the Q_Key does not match"),
	RXE("ud: a message longer than the receive is lost or a length error", OP_ERR),
	RXE("mcast: it is received by another QP of the sending port",
	    "attaching alone reaches nobody, the group has to be joined by rdma_cm"),
	RXE("srq: a QP in ERR says that it takes no more of the SRQ", "the event never comes"),
	RXE("srq: the last WQE event names the QP", "the event never comes"),
	RXE("events: a refused key is an access error event at the responder",
	    "the event never comes"),
	RXE("events: an invalid request is an event at the responder",
	    "the request is refused when it is posted"),
	RXE("events: the first message in RTR is the event communication established",
	    "the event never comes"),
	RXE("process: the peer is told by an event", "the event never comes"),
	RXE("wr: an inline WRITE is done, its buffer free at once",
	    "it fails with LOC_QP_OP_ERR, unless IBV_SEND_INLINE is in wr_flags too"),
	RXE("wr: a list of inline data is gathered", "it fails with LOC_QP_OP_ERR"),
	{ NULL, NULL, NULL },
};
