/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GIDs: kind, text form, subnet. Pure. */
#ifndef COMMON_GID_H
#define COMMON_GID_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum gid_type { GID_TYPE_IB, GID_TYPE_ROCE_V1, GID_TYPE_ROCE_V2 };

struct gid_entry {
	uint32_t index; /* in the port's GID table */
	union ibv_gid gid;
	enum gid_type type;
	uint8_t prefix_len; /* of the netdev's address, in bits of the family; 0 when unknown */
	char netdev[16];    /* "" when unknown */
};

#define GID_TEXT_MAX 46

/* Standard text form: "::ffff:10.0.0.1", "fe80::1". */
void gid_text(const union ibv_gid *gid, char out[GID_TEXT_MAX]);
/* 0 or -EINVAL. */
int gid_parse(const char *text, union ibv_gid *gid);
const char *gid_type_name(enum gid_type type); /* "IB", "RoCE v1", "RoCE v2" */
int gid_type_parse(const char *name, enum gid_type *type);

bool gid_is_zero(const union ibv_gid *gid);
bool gid_is_ipv4(const union ibv_gid *gid);       /* ::ffff:a.b.c.d */
bool gid_is_link_local(const union ibv_gid *gid); /* fe80::/10, or 169.254/16 as IPv4 */

/*
 * True when both lie on one subnet: by the longer known prefix length of the two, else /24 for
 * IPv4 and /64 for IPv6. IPv4 and IPv6 never do.
 */
bool gid_same_subnet(const struct gid_entry *a, const struct gid_entry *b);

/*
 * How good the two are for a RoCE connection: higher is better, 0 never works (another type or
 * family, a zero GID). RoCE v2 before v1; one subnet before routed (v2 only); global before
 * link-local; IPv4 before IPv6.
 */
int gid_pair_rank(const struct gid_entry *a, const struct gid_entry *b);

#endif
