/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SPEC: devices, their keys, and the defaults, which are those of the device soft0. */
#include "spec.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "spec_parse.h"

static void device_defaults(struct spec_device *d, int index)
{
	/* Locally administered, and it spells "soft"; the port number is added to its GIDs. */
	d->guid = 0x02736f6674000000u | (uint64_t)index << 8;
	d->nports = 1;
	d->max_inline = 1024;
	d->max_cqe = (1u << 22) - 1;
	d->max_qp = 1u << 17;
	d->max_qp_wr = 1u << 15;
	d->max_rd_atomic = 16;
	d->max_msg = 1u << 31;
	d->max_mr_size = UINT64_MAX;
	d->atomic = IBV_ATOMIC_GLOB;
	d->types = SPEC_RC | SPEC_UC | SPEC_UD;
	for (int i = 0; i < SPEC_PORTS; i++) {
		struct spec_port *p = &d->port[i];

		p->state = IBV_PORT_ACTIVE;
		p->mtu = IBV_MTU_4096;
		p->npkeys = 1;
		p->pkey[0] = 0xffff;
		p->width = 2;	/* 4x */
		p->speed = 32;	/* EDR */
	}
}

static int key_index(const char *name)
{
	int i = 0;

	while (spec_keys[i].name && strcmp(spec_keys[i].name, name))
		i++;
	return i;
}

static bool was_given(const struct spec_build *b, const char *key, int port)
{
	uint64_t bit = UINT64_C(1) << key_index(key);
	bool plain = spec_keys[key_index(key)].scope == SPEC_OF_PORTS || port == 0;

	return b->given[port + 1] & bit || (plain && b->given[0] & bit);
}

/* Addresses that depend on the link, so they wait until all keys were read. */
static void port_defaults(struct spec_build *b, int i)
{
	struct spec_port *p = &b->dev->port[i];
	bool ib = p->link == SPEC_LINK_IB;

	if (!was_given(b, "lid", i))
		p->lid = ib ? (uint16_t)(i + 1) : 0;
	if (!was_given(b, "sm_lid", i))
		p->sm_lid = ib ? 1 : 0;
	if (p->link == SPEC_LINK_ETH)
		p->grh_required = true;
	if (!was_given(b, "gids", i)) {
		p->gid[0].global.subnet_prefix = htobe64(0xfe80000000000000u);
		p->gid[0].global.interface_id = htobe64(b->dev->guid + (uint64_t)i + 1);
		p->gid_type[0] = IBV_GID_TYPE_ROCE_V2;
		p->ngids = 1;
	}
	for (int g = 0; g < p->ngids && p->link != SPEC_LINK_ETH; g++)
		p->gid_type[g] = IBV_GID_TYPE_IB;
}

static int bad_key(struct spec_build *b, struct spec_tok name, const char *why)
{
	char keys[640];
	size_t n = 0;

	for (const struct spec_key *k = spec_keys; k->name; k++)
		n += (size_t)snprintf(keys + n, sizeof(keys) - n, "%s%s%s", n ? ", " : "", k->name,
				      k->form == SPEC_VALUE ? "=" : k->form == SPEC_AT ? "@" : "");
	return spec_bad(b->err, name, "%s%s", why, keys);
}

/* `portN.` in front: b->port, and the rest of the name. */
static int port_prefix(struct spec_build *b, struct spec_tok *name)
{
	struct spec_tok head, tail;
	uint64_t n;

	b->port = 0;
	if (!spec_cut(*name, '.', &head, &tail))
		return 0;
	if (head.n < 5 || strncasecmp(head.s, "port", 4) ||
	    spec_number(spec_skip(head, 4), 1, SPEC_PORTS, &n))
		return spec_bad(b->err, head, "port1. to port%d. in front of a key", SPEC_PORTS);
	b->port = (int)n;
	*name = tail;
	return 0;
}

static int find_key(struct spec_build *b, struct spec_tok name, const struct spec_key **key)
{
	const struct spec_key *k = spec_keys;

	while (k->name && !spec_is(name, k->name))
		k++;
	if (!k->name)
		return bad_key(b, name, "the keys ");
	if (b->port && k->scope == SPEC_OF_DEVICE)
		return spec_bad(b->err, name, "a key of a port (link, state, lid, sm_lid, lmc, "
				"mtu, gids, pkeys, width, speed, grh_required, event)");
	*key = k;
	return 0;
}

static int once(struct spec_build *b, const struct spec_key *k, struct spec_tok name)
{
	uint64_t bit = UINT64_C(1) << (k - spec_keys);

	if (b->given[b->port] & bit && !k->list)
		return spec_bad(b->err, name, "this key once");
	b->given[b->port] |= bit;
	return 0;
}

static int apply(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	int first = b->port ? b->port - 1 : 0, last = first;

	if (!b->port && k->scope == SPEC_OF_PORTS)
		last = SPEC_PORTS - 1;
	for (int i = first; i <= last; i++) {
		b->to = &b->dev->port[i];
		if (k->set(b, k, v))
			return -1;
	}
	return 0;
}

static int parse_key(struct spec_build *b, struct spec_tok t, bool with_prefix)
{
	static const char *const forms[] = { "KEY=VALUE", "KEY@N", "the key alone" };
	struct spec_tok name = t, v;
	const struct spec_key *k = NULL;
	size_t n = 0;
	char sep;

	while (n < t.n && t.s[n] != '=' && t.s[n] != '@')
		n++;
	sep = n < t.n ? t.s[n] : 0;
	name.n = n;
	v = spec_skip(t, n + 1);
	if (port_prefix(b, &name))
		return -1;
	if (with_prefix != (b->port > 0))
		return 0;
	if (find_key(b, name, &k))
		return -1;
	if (sep != "=@"[k->form])
		return spec_bad(b->err, spec_skip(t, n), "%s: %s", k->name, forms[k->form]);
	if (once(b, k, name))
		return -1;
	return apply(b, k, v);
}

/* Keys with a port in front win wherever they stand, so they are read in a second pass. */
static int parse_keys(struct spec_build *b, struct spec_tok keys)
{
	bool counted;

	for (int pass = 0; pass < 2; pass++) {
		struct spec_tok rest = keys, item;

		counted = b->given[0] & UINT64_C(1) << key_index("ports");
		while (spec_split(&rest, ',', &item)) {
			if (parse_key(b, item, pass == 1))
				return -1;
			if (pass == 0 || b->port <= b->dev->nports)
				continue;
			if (counted)
				return spec_bad(b->err, item, "ports up to ports=%d",
						b->dev->nports);
			b->dev->nports = b->port;
		}
	}
	return 0;
}

static int parse_name(struct spec_build *b, struct spec_tok name, const struct spec *s)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.s[i];
		bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';

		if (!letter && (!i || !strchr("0123456789_-", c)))
			return spec_bad(b->err, spec_skip(name, i), "a device name: letters, "
					"digits, _ and -, then : and its keys");
	}
	if (!name.n || name.n >= sizeof(b->dev->name))
		return spec_bad(b->err, name, "a device name of 1 to %zu characters",
				sizeof(b->dev->name) - 1);
	memcpy(b->dev->name, name.s, name.n);
	for (int i = 0; i < s->ndev; i++)
		if (!strcmp(s->dev[i].name, b->dev->name))
			return spec_bad(b->err, name, "each name once");
	return 0;
}

static int parse_device(struct spec_build *b, struct spec_tok t, const struct spec *s)
{
	struct spec_tok name, keys;

	device_defaults(b->dev, s->ndev);
	if (!spec_cut(t, ':', &name, &keys))
		keys.s = NULL;
	if (parse_name(b, name, s))
		return -1;
	if (keys.s && parse_keys(b, keys))
		return -1;
	for (int i = 0; i < SPEC_PORTS; i++)
		port_defaults(b, i);
	return 0;
}

static int check_parens(struct spec_tok t, struct spec_error *err)
{
	size_t open = 0;
	int depth = 0;

	for (size_t i = 0; i < t.n; i++) {
		if (t.s[i] == '(' && depth++ == 0)
			open = i;
		if (t.s[i] == ')' && depth-- == 0)
			return spec_bad(err, spec_skip(t, i), "a ) only after its (");
	}
	return depth ? spec_bad(err, spec_skip(t, open), "a ( with its )") : 0;
}

static int add_device(struct spec *s, struct spec_tok t, struct spec_error *err)
{
	struct spec_build b = { .err = err };
	struct spec_device *dev;

	if (s->ndev == SPEC_DEVICES)
		return spec_bad(err, t, "at most %d devices", SPEC_DEVICES);
	dev = realloc(s->dev, sizeof(*dev) * (size_t)(s->ndev + 1));
	if (!dev)
		return spec_bad(err, t, "more memory than there is");
	s->dev = dev;
	b.dev = &dev[s->ndev];
	memset(b.dev, 0, sizeof(*b.dev));
	if (parse_device(&b, t, s))
		return -1;
	s->ndev++;
	return 0;
}

int spec_parse(const char *text, struct spec *s, struct spec_error *err)
{
	struct spec_tok rest = { .s = text && *text ? text : "soft0" }, item;

	memset(s, 0, sizeof(*s));
	memset(err, 0, sizeof(*err));
	rest.n = strlen(rest.s);
	if (check_parens(rest, err))
		return -1;
	while (spec_split(&rest, ';', &item)) {
		if (!add_device(s, item, err))
			continue;
		spec_free(s);
		return -1;
	}
	return 0;
}

void spec_free(struct spec *s)
{
	for (int i = 0; i < s->ndev; i++) {
		dist_close(&s->dev[i].delay);
		dist_close(&s->dev[i].out);
		dist_close(&s->dev[i].back);
	}
	free(s->dev);
	memset(s, 0, sizeof(*s));
}
