/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The other process: this program once more, as `conform --peer FD`. It has one end of a pair and
 * does what it is told over a socket, one command and one answer at a time.
 */
#ifndef CONFORMANCE_PEER_H
#define CONFORMANCE_PEER_H

#include <stdint.h>
#include <sys/types.h>

#include "conf.h"

enum peer_op {
	PEER_HELLO,	/* -> v: QPN, w: address of the buffer, x: rkey, y: LID, gid */
	PEER_CONNECT,	/* a: QPN, b: LID, gid; from RESET to RTS; -> v: errno */
	PEER_RECV,	/* a: wr_id, b: offset, n: length; -> v: errno */
	PEER_WC,	/* -> v: status, w: wr_id, x: byte_len, y: imm_data, z: opcode */
	PEER_SEND,	/* b: offset, n: length; -> v: status */
	PEER_GET,	/* b: offset; -> w: 8 bytes of the buffer */
	PEER_SET,	/* b: offset, a: 8 bytes */
	PEER_STATE,	/* -> v: state of the QP */
	PEER_EVENT,	/* -> v: type of the next async event, -1: none in time */
	PEER_ARM,	/* -> v: errno */
	PEER_WOKEN,	/* a: ms; -> v: 1 a channel event came (and was acknowledged), 0 none */
};

struct peer_cmd {
	int op;
	uint32_t n;
	uint64_t a, b;
	union ibv_gid gid;
};

struct peer_answer {
	int64_t v;
	uint64_t w;
	uint32_t x, y, z;
	union ibv_gid gid;
};

struct peer {
	pid_t pid;
	int fd;
	uint32_t qpn, rkey;
	uint64_t addr;
	uint16_t lid;
	union ibv_gid gid, own_gid;
};

/* 0 or -1; peer_stop accepts a peer that is dead or never was. */
int peer_start(struct conf *c, struct peer *p);
void peer_stop(struct peer *p);
/* An answer of all -1 when the peer does not answer within 10 s. */
struct peer_answer peer_do(struct peer *p, int op, uint64_t a, uint64_t b, uint32_t n);

/* The same device with another one's address: what leads there. */
struct conf conf_towards(const struct conf *c, uint16_t lid, const union ibv_gid *gid);

/* The life of the peer; its exit code. */
int peer_serve(struct conf *c, int fd);

#endif
