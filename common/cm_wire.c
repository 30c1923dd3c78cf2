/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of rdma_cm goes over the control connection and in private data. Pure. */
#include "cm_parts.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "device.h"

static const char magic[4] = { 'V', 'P', 'F', '1' };

void cm_data_fill(uint8_t data[CM_DATA], const struct cm_offer *o, uint32_t index)
{
	uint32_t be = htobe32(index);

	memcpy(data, magic, sizeof(magic));
	memcpy(data + sizeof(magic), o->token, CM_TOKEN);
	memcpy(data + sizeof(magic) + CM_TOKEN, &be, sizeof(be));
}

int cm_data_check(const uint8_t *data, size_t len, const struct cm_offer *o, uint32_t *index)
{
	uint32_t be;

	/* The kernel hands over all the bytes there are room for, padded with zeros. */
	if (len < CM_DATA || memcmp(data, magic, sizeof(magic)) ||
	    memcmp(data + sizeof(magic), o->token, CM_TOKEN))
		return -EINVAL;
	memcpy(&be, data + sizeof(magic) + CM_TOKEN, sizeof(be));
	*index = be32toh(be);
	return 0;
}

json_t *cm_offer_to_json(const struct cm_offer *o)
{
	char token[2 * CM_TOKEN + 1];

	for (int i = 0; i < CM_TOKEN; i++)
		snprintf(token + 2 * i, 3, "%02x", o->token[i]);
	return json_pack("{s:i,s:s}", "port", (int)o->port, "token", token);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int cm_offer_from_json(json_t *v, struct cm_offer *o)
{
	const char *token;
	json_int_t port;

	if (json_unpack(v, "{s:I,s:s}", "port", &port, "token", &token) || port < 1 ||
	    port > UINT16_MAX || strlen(token) != 2 * CM_TOKEN)
		return -EINVAL;
	for (int i = 0; i < CM_TOKEN; i++) {
		int high = hex_digit(token[2 * i]), low = hex_digit(token[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		o->token[i] = (uint8_t)(high << 4 | low);
	}
	o->port = (uint16_t)port;
	return 0;
}

json_t *cm_record_to_json(const struct cm_record *r)
{
	return json_pack("{s:i,s:i,s:i,s:i,s:i}", "sl", (int)r->sl, "mtu", (int)r->mtu, "slid",
			 (int)r->slid, "dlid", (int)r->dlid, "pkey", (int)r->pkey);
}

int cm_record_from_json(json_t *v, struct cm_record *r)
{
	json_int_t sl, mtu, slid, dlid, pkey;

	if (json_unpack(v, "{s:I,s:I,s:I,s:I,s:I}", "sl", &sl, "mtu", &mtu, "slid", &slid, "dlid",
			&dlid, "pkey", &pkey) ||
	    sl < 0 || sl > 15 || mtu < 0 || !mtu_from_bytes((uint64_t)mtu) || slid < 0 ||
	    slid > UINT16_MAX || dlid < 0 || dlid > UINT16_MAX || pkey < 0 || pkey > UINT16_MAX)
		return -EINVAL;
	*r = (struct cm_record){ (uint8_t)sl, (uint16_t)mtu, (uint16_t)slid, (uint16_t)dlid,
				 (uint16_t)pkey };
	return 0;
}
