/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

void gid_text(const union ibv_gid *gid, char out[GID_TEXT_MAX])
{
	inet_ntop(AF_INET6, gid->raw, out, GID_TEXT_MAX);
}

int gid_parse(const char *text, union ibv_gid *gid)
{
	return inet_pton(AF_INET6, text, gid->raw) == 1 ? 0 : -EINVAL;
}

static const char *const type_names[] = { "IB", "RoCE v1", "RoCE v2" };

const char *gid_type_name(enum gid_type type)
{
	return type_names[type];
}

int gid_type_parse(const char *name, enum gid_type *type)
{
	for (int i = 0; i < 3; i++)
		if (!strcmp(type_names[i], name)) {
			*type = (enum gid_type)i;
			return 0;
		}
	return -EINVAL;
}

bool gid_is_zero(const union ibv_gid *gid)
{
	static const union ibv_gid zero;

	return !memcmp(gid, &zero, sizeof(zero));
}

bool gid_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

bool gid_is_link_local(const union ibv_gid *gid)
{
	if (gid_is_ipv4(gid))
		return gid->raw[12] == 169 && gid->raw[13] == 254;
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	unsigned int whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole))
		return false;
	return !rest || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

bool gid_same_subnet(const struct gid_entry *a, const struct gid_entry *b)
{
	bool v4 = gid_is_ipv4(&a->gid);
	unsigned int len = a->prefix_len > b->prefix_len ? a->prefix_len : b->prefix_len;
	unsigned int most = v4 ? 32 : 128, skip = v4 ? 12 : 0;

	if (v4 != gid_is_ipv4(&b->gid))
		return false;
	if (len == 0)
		len = v4 ? 24 : 64;
	return same_bits(a->gid.raw + skip, b->gid.raw + skip, len < most ? len : most);
}

int gid_pair_rank(const struct gid_entry *a, const struct gid_entry *b)
{
	bool local = gid_is_link_local(&a->gid);
	bool subnet = gid_same_subnet(a, b);

	if (a->type != b->type || gid_is_zero(&a->gid) || gid_is_zero(&b->gid) ||
	    gid_is_ipv4(&a->gid) != gid_is_ipv4(&b->gid) || local != gid_is_link_local(&b->gid))
		return 0;
	/* Only RoCE v2 is routed, and nothing is routed to a link-local address. */
	if (!subnet && (a->type != GID_TYPE_ROCE_V2 || local))
		return 0;
	return 1 + gid_is_ipv4(&a->gid) + 2 * (a->type == GID_TYPE_ROCE_V2) + 4 * !local +
	       8 * subnet;
}
