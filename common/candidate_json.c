/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Candidates as they go over the control connection. What comes in is checked in full. */
#include "candidate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

static json_t *gid_to_json(const struct gid_entry *g)
{
	char text[GID_TEXT_MAX];

	gid_text(&g->gid, text);
	return json_pack("{s:i,s:s,s:s,s:i,s:s}", "index", (int)g->index, "gid", text, "type",
			 gid_type_name(g->type), "prefix_len", (int)g->prefix_len, "netdev",
			 g->netdev);
}

static const char *const link_names[] = { "IB", "Ethernet", "iWARP" };

static int link_from_text(const char *text, enum candidate_link *link)
{
	for (int i = LINK_IB; i <= LINK_IWARP; i++)
		if (!strcmp(text, link_names[i])) {
			*link = (enum candidate_link)i;
			return 0;
		}
	return -EINVAL;
}

static json_t *candidate_to_json(const struct candidate *c)
{
	json_t *gids = json_array(), *pkeys = json_array();
	char prefix[17];

	for (int i = 0; i < c->gid_count; i++)
		json_array_append_new(gids, gid_to_json(&c->gids[i]));
	for (int i = 0; i < c->pkey_count; i++)
		json_array_append_new(pkeys, json_integer(c->pkeys[i]));
	snprintf(prefix, sizeof(prefix), "%016" PRIx64, c->prefix);
	return json_pack("{s:s,s:i,s:s,s:i,s:i,s:i,s:b,s:s,s:i,s:i,s:o,s:o}", "device", c->device,
			 "port", (int)c->port, "link_layer", link_names[c->link],
			 "lid", (int)c->lid, "lmc", (int)c->lmc, "mtu", (int)c->mtu, "grh",
			 (int)c->grh, "subnet_prefix", prefix, "max_rd_atomic", c->max_rd_atomic,
			 "max_dest_rd_atomic", c->max_dest_rd_atomic, "gids", gids, "pkeys", pkeys);
}

json_t *candidates_to_json(const struct candidate_list *l)
{
	json_t *a = json_array();

	for (int i = 0; i < l->count; i++)
		json_array_append_new(a, candidate_to_json(&l->v[i]));
	return a;
}

/* Numbers are unpacked at full width: "i" would cut 2^32 + 1 to a valid 1. */
static bool fits(json_int_t v, json_int_t lo, json_int_t hi)
{
	return v >= lo && v <= hi;
}

static int gid_from_json(json_t *v, struct gid_entry *g)
{
	const char *text, *type, *netdev;
	json_int_t index, len;

	memset(g, 0, sizeof(*g));
	if (json_unpack(v, "{s:I,s:s,s:s,s:I,s:s}", "index", &index, "gid", &text, "type", &type,
			"prefix_len", &len, "netdev", &netdev) ||
	    !fits(index, 0, 65535) || !fits(len, 0, 128) || gid_parse(text, &g->gid) ||
	    gid_type_parse(type, &g->type))
		return -EINVAL;
	g->index = (uint32_t)index;
	g->prefix_len = (uint8_t)len;
	error_sanitise(g->netdev, sizeof(g->netdev), netdev, strlen(netdev));
	return 0;
}

static int tables_from_json(json_t *gids, json_t *pkeys, struct candidate *c)
{
	if (!json_is_array(gids) || !json_is_array(pkeys) ||
	    json_array_size(gids) > CANDIDATE_GIDS_MAX ||
	    json_array_size(pkeys) > CANDIDATE_PKEYS_MAX)
		return -EINVAL;
	c->gid_count = (int)json_array_size(gids);
	c->pkey_count = (int)json_array_size(pkeys);
	for (int i = 0; i < c->gid_count; i++)
		if (gid_from_json(json_array_get(gids, (size_t)i), &c->gids[i]))
			return -EINVAL;
	for (int i = 0; i < c->pkey_count; i++) {
		json_t *p = json_array_get(pkeys, (size_t)i);

		if (!json_is_integer(p) || json_integer_value(p) < 0 ||
		    json_integer_value(p) > 0xffff)
			return -EINVAL;
		c->pkeys[i] = (uint16_t)json_integer_value(p);
	}
	return 0;
}

/* Sixteen digits; strtoull() alone would take "-1" and " 0x1". */
static int prefix_from_text(const char *text, uint64_t *prefix)
{
	if (strlen(text) != 16 || text[strspn(text, "0123456789abcdef")])
		return -EINVAL;
	*prefix = strtoull(text, NULL, 16);
	return 0;
}

static int candidate_from_json(json_t *v, struct candidate *c)
{
	const char *device, *link, *prefix;
	json_int_t port, lid, lmc, mtu, initiator, responder;
	json_t *gids, *pkeys;
	int grh;

	memset(c, 0, sizeof(*c));
	if (json_unpack(v, "{s:s,s:I,s:s,s:I,s:I,s:I,s:b,s:s,s:I,s:I,s:o,s:o}", "device", &device,
			"port", &port, "link_layer", &link, "lid", &lid, "lmc", &lmc, "mtu", &mtu,
			"grh", &grh, "subnet_prefix", &prefix, "max_rd_atomic", &initiator,
			"max_dest_rd_atomic", &responder, "gids", &gids, "pkeys", &pkeys))
		return -EINVAL;
	if (!fits(port, 1, 255) || !fits(lid, 0, 0xffff) || !fits(lmc, 0, 7) ||
	    !fits(mtu, 256, 4096) || (mtu & (mtu - 1)) || !fits(initiator, 0, 65535) ||
	    !fits(responder, 0, 65535) || strlen(device) >= DEVICE_NAME_MAX ||
	    link_from_text(link, &c->link) || prefix_from_text(prefix, &c->prefix))
		return -EINVAL;
	error_sanitise(c->device, sizeof(c->device), device, strlen(device));
	c->port = (uint8_t)port;
	c->lid = (uint16_t)lid;
	c->lmc = (uint8_t)lmc;
	c->mtu = (uint16_t)mtu;
	c->grh = grh;
	c->max_rd_atomic = (int)initiator;
	c->max_dest_rd_atomic = (int)responder;
	return tables_from_json(gids, pkeys, c);
}

int candidates_from_json(json_t *a, struct candidate_list *l)
{
	size_t n = json_array_size(a);

	l->v = NULL;
	l->count = 0;
	if (!json_is_array(a) || n > CANDIDATES_MAX)
		return -EINVAL;
	l->v = calloc(n ? n : 1, sizeof(*l->v));
	if (!l->v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (candidate_from_json(json_array_get(a, i), &l->v[i])) {
			candidates_free(l);
			return -EINVAL;
		}
		l->count++;
	}
	return 0;
}

json_t *candidate_choice_to_json(const struct candidate_list *l, const struct candidate_choice *c)
{
	const struct candidate *d = &l->v[c->candidate];

	return json_pack("{s:s,s:i,s:i,s:i}", "device", d->device, "port", (int)d->port,
			 "gid_index", c->gid < 0 ? -1 : (int)d->gids[c->gid].index, "pkey_index",
			 c->pkey_index);
}

static int find_gid(const struct candidate *c, int index)
{
	for (int i = 0; i < c->gid_count; i++)
		if ((int)c->gids[i].index == index)
			return i;
	return -1;
}

int candidate_choice_from_json(json_t *v, const struct candidate_list *l,
			       struct candidate_choice *c)
{
	json_int_t port, gid_index, pkey_index;
	const char *device;

	if (json_unpack(v, "{s:s,s:I,s:I,s:I}", "device", &device, "port", &port, "gid_index",
			&gid_index, "pkey_index", &pkey_index) ||
	    !fits(gid_index, -1, 65535))
		return -EINVAL;
	for (c->candidate = 0; c->candidate < l->count; c->candidate++) {
		const struct candidate *d = &l->v[c->candidate];

		if (strcmp(d->device, device) || d->port != port)
			continue;
		c->gid = find_gid(d, (int)gid_index);
		if ((gid_index >= 0 && c->gid < 0) || (d->link == LINK_ETHERNET && c->gid < 0) ||
		    (d->link != LINK_IWARP && !fits(pkey_index, 0, d->pkey_count - 1)))
			return -EINVAL;
		c->pkey_index = (int)pkey_index;
		return 0;
	}
	return -EINVAL;
}
