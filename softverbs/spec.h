/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SPEC, the text that describes the software devices of a process; doc/softverbs-spec.md has the
 * grammar and every key. Devices by `;`, keys by `,`, lists by `|`; a comma inside () separates
 * nothing. No globals, no I/O: files that a delay names are read later, by dist_open().
 */
#ifndef SOFTVERBS_SPEC_H
#define SOFTVERBS_SPEC_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"
#include "dist.h"
#include "spec_fault.h"

#define SPEC_PORTS 8
#define SPEC_GIDS 16
#define SPEC_PKEYS 32
#define SPEC_DEVICES 16

enum spec_link { SPEC_LINK_IB, SPEC_LINK_ETH, SPEC_LINK_IWARP };
enum spec_mode { SPEC_MODE_SHARED, SPEC_MODE_PVM };
enum { SPEC_RC = 1, SPEC_UC = 2, SPEC_UD = 4 };	/* bits of spec_device.types */
struct spec_port {
	enum spec_link link;
	enum ibv_port_state state;	/* down: IBV_PORT_DOWN */
	uint16_t lid, sm_lid;		/* eth, iwarp: 0 unless given */
	uint8_t lmc;
	enum ibv_mtu mtu;
	union ibv_gid gid[SPEC_GIDS];	/* default: one, fe80:: and the GUID of the port */
	enum ibv_gid_type gid_type[SPEC_GIDS];
	int ngids;
	uint16_t pkey[SPEC_PKEYS];	/* default: 0xffff alone */
	int npkeys;
	bool grh_required;		/* eth: always */
	uint8_t width, speed;		/* as in struct ibv_port_attr */
};

#define SPEC_MAX_MSG_LEAST 4096

struct spec_device {
	char name[IBV_SYSFS_NAME_MAX];
	uint64_t guid;			/* host order */
	struct spec_port port[SPEC_PORTS];	/* port 1 is port[0] */
	int nports;
	uint32_t max_inline, max_cqe, max_qp, max_qp_wr, max_rd_atomic;
	uint32_t max_msg;		/* bytes, at least SPEC_MAX_MSG_LEAST */
	uint64_t max_mr_size;
	enum ibv_atomic_cap atomic;
	unsigned int types;
	enum spec_mode mode;
	struct dist delay, out, back;
	uint64_t bw;			/* bit/s, 0: no limit */
	uint64_t seed;
	bool complete_post;
	bool async;
	uint64_t async_seed;
	struct spec_faults fault;
	char trace[256];		/* empty: none */
};

struct spec {
	struct spec_device *dev;
	int ndev;
};

/* Where (offset in bytes from 0) and one line: what was found, what is allowed. */
struct spec_error {
	size_t pos;
	char text[1024];
};

/*
 * 0, or -1 with *err set (also when memory runs out). NULL or an empty text is `soft0`. After an
 * error *s is empty; spec_free() accepts that, and a zeroed struct.
 */
int spec_parse(const char *text, struct spec *s, struct spec_error *err);
void spec_free(struct spec *s);

#endif
