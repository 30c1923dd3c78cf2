/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pick of a pair out of both ends' ports, rule by rule, and what is said when there is none. */
#include "unit.h"

#include <errno.h>

#include "candidate.h"
#include "options.h"

#define V1 GID_TYPE_ROCE_V1
#define V2 GID_TYPE_ROCE_V2
#define PORTS 3
#define GIDS 4

/* A port in short: enough for the pick. */
struct port {
	const char *device; /* NULL ends a list */
	enum candidate_link link;
	uint16_t lid;
	uint64_t prefix;
	bool grh;
	struct {
		const char *gid; /* NULL ends them */
		uint8_t prefix_len;
		enum gid_type type;
	} gids[GIDS];
	uint16_t pkeys[4];
};

#define IB(name, l, p, ...)                                                                        \
	{ .device = name, .link = LINK_IB, .lid = l, .prefix = p, __VA_ARGS__ }
#define PREFIX 0xfe80000000000000ull

struct row {
	const char *what;
	struct port client[PORTS], server[PORTS];
	uint64_t pkey;
	int want[6]; /* client port, GID, P_Key index, server port, GID, P_Key index */
	bool routed;
	const char *why; /* set: refused */
};

static void fill_port(struct candidate *c, const struct port *p)
{
	memset(c, 0, sizeof(*c));
	snprintf(c->device, sizeof(c->device), "%s", p->device);
	c->port = 1;
	c->link = p->link;
	c->lid = p->lid;
	c->prefix = p->prefix;
	c->grh = p->grh || p->link == LINK_ETHERNET;
	c->mtu = 1024;
	for (int i = 0; i < GIDS && p->gids[i].gid; i++) {
		struct gid_entry *g = &c->gids[c->gid_count++];

		g->index = (uint32_t)(10 + i);
		g->type = p->gids[i].type;
		g->prefix_len = p->gids[i].prefix_len;
		assert_int_equal(gid_parse(p->gids[i].gid, &g->gid), 0);
	}
	memcpy(c->pkeys, p->pkeys, sizeof(p->pkeys));
	c->pkey_count = 4;
	if (!p->pkeys[0] && !p->pkeys[1]) {
		c->pkeys[0] = 0xffff;
		c->pkey_count = 1;
	}
}

static struct candidate_list fill_list(const struct port *p)
{
	struct candidate_list l = { .v = calloc(PORTS, sizeof(*l.v)) };

	for (; l.count < PORTS && p[l.count].device; l.count++)
		fill_port(&l.v[l.count], &p[l.count]);
	return l;
}

static void check_pick(const struct row *r, const struct candidate_pair *p)
{
	const int is[6] = { p->client.candidate, p->client.gid, p->client.pkey_index,
			    p->server.candidate, p->server.gid, p->server.pkey_index };

	if (memcmp(is, r->want, sizeof(is)) || p->routed != r->routed)
		fail_msg("%s: port %d GID %d P_Key %d with port %d GID %d P_Key %d%s", r->what,
			 is[0], is[1], is[2], is[3], is[4], is[5], p->routed ? ", routed" : "");
}

/* What was picked passes at the other end; the same with a GID that was not picked does not. */
static void check_accepted(const struct row *r, const struct candidate_list *client,
			   const struct candidate_list *server, const struct candidate_pair *picked)
{
	struct candidate_pair p = *picked;

	p.routed = !r->routed;
	if (candidate_check(client, server, &p) ||
	    (client->v[p.client.candidate].link == LINK_ETHERNET && p.routed != r->routed))
		fail_msg("%s: the pair is refused by the other end", r->what);
	p.client.gid = p.client.gid < 0 ? 0 : -1;
	if (candidate_check(client, server, &p) != -EINVAL)
		fail_msg("%s: a GRH on one end only is taken", r->what);
}

/* Types, families and P_Keys that do not fit are refused, whoever picked them. */
static void test_check(void **state)
{
	static const struct gid_entry v1 = { .type = V1, .gid.raw = { 0xfd, [15] = 1 } };
	static const struct gid_entry v2 = { .type = V2, .gid.raw = { 0xfd, [15] = 2 } };
	struct candidate a = { .link = LINK_ETHERNET, .gid_count = 1, .gids = { v2 },
			       .pkey_count = 2, .pkeys = { 0xffff, 0x7fff } };
	struct candidate b = { .link = LINK_ETHERNET, .gid_count = 2, .gids = { v2, v1 },
			       .pkey_count = 2, .pkeys = { 0x7fff, 0x8001 } };
	struct candidate_list client = { &a, 1 }, server = { &b, 1 };
	struct candidate_pair p = { { 0, 0, 0 }, { 0, 0, 0 }, false };

	(void)state;
	assert_int_equal(candidate_check(&client, &server, &p), 0);
	p.server.gid = 1;
	assert_int_equal(candidate_check(&client, &server, &p), -EINVAL);
	p.server.gid = 0;
	p.server.pkey_index = 1;
	assert_int_equal(candidate_check(&client, &server, &p), -EINVAL);
	p.server.pkey_index = 0;
	p.client.pkey_index = 1; /* two limited members */
	assert_int_equal(candidate_check(&client, &server, &p), -EINVAL);
	p.client.pkey_index = 0;
	b.link = LINK_IB;
	assert_int_equal(candidate_check(&client, &server, &p), -EINVAL);
}

static void check_row(const struct row *r)
{
	struct candidate_list client = fill_list(r->client), server = fill_list(r->server);
	struct candidate_pair pair;
	char why[256] = "";
	int rc = candidate_pick(&client, &server, r->pkey ? r->pkey : OPTION_AUTO, &pair, why,
				sizeof(why));

	if (rc != (r->why ? -ENOENT : 0))
		fail_msg("%s: %d, %s", r->what, rc, why);
	if (!rc) {
		check_pick(r, &pair);
		check_accepted(r, &client, &server, &pair);
	} else if (strcmp(why, r->why))
		fail_msg("%s: \"%s\"", r->what, why);
	candidates_free(&client);
	candidates_free(&server);
	candidates_free(&client);
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_row(&rows[i]);
}

#define ETH(name, ...) { .device = name, .link = LINK_ETHERNET, .gids = { __VA_ARGS__ } }
#define NET_A { "::ffff:10.0.0.1", 24, V2 }
#define NET_B { "::ffff:10.0.0.2", 24, V2 }
#define WARP(name) { .device = name, .link = LINK_IWARP }
#define CANNOT(a, b) "client " a " port 1 and server " b " port 1 cannot talk: "
#define NO_GIDS                                                                                    \
	"no two GIDs of one type and address family on one subnet (see -x; show the tables with "  \
	"ibv_devinfo -v)"

static void test_infiniband(void **state)
{
	static const struct row rows[] = {
		{ "LIDs alone", { IB("a", 1, PREFIX) }, { IB("b", 2, PREFIX) },
		  .want = { 0, -1, 0, 0, -1, 0 } },
		{ "one port flag asks for a GRH",
		  { IB("a", 1, PREFIX, .gids = { { "fe80::1", 64, GID_TYPE_IB } }) },
		  { IB("b", 2, PREFIX, .grh = true, .gids = { { "fe80::2", 64, GID_TYPE_IB } }) },
		  .want = { 0, 0, 0, 0, 0, 0 } },
		{ "a GRH without a GID", { IB("a", 1, PREFIX, .grh = true) }, { IB("b", 2, PREFIX) },
		  .why = CANNOT("a", "b") NO_GIDS },
		{ "another subnet", { IB("a", 1, PREFIX) }, { IB("b", 2, PREFIX + 1) },
		  .why = CANNOT("a", "b") "different InfiniBand subnet prefixes; a router needs the "
					  "path from rdma_cm" },
		{ "the second port is on the peer's subnet",
		  { IB("a", 1, PREFIX), IB("c", 3, PREFIX + 1) }, { IB("b", 2, PREFIX + 1) },
		  .want = { 1, -1, 0, 0, -1, 0 } },
		{ "no subnet manager", { IB("a", 0, PREFIX) }, { IB("b", 2, PREFIX) },
		  .why = CANNOT("a", "b") "a LID is 0: no subnet manager has configured the port" },
		{ "nor on the server", { IB("a", 1, PREFIX) }, { IB("b", 0, PREFIX) },
		  .why = CANNOT("a", "b") "a LID is 0: no subnet manager has configured the port" },
		{ "the reason that came furthest is told",
		  { IB("a", 0, PREFIX), IB("c", 1, PREFIX) }, { ETH("r", NET_A), IB("b", 2, 5) },
		  .why = CANNOT("c", "b") "different InfiniBand subnet prefixes; a router needs the "
					  "path from rdma_cm" },
	};

	(void)state;
	check_rows(rows, COUNT(rows));
}

static void test_link_layers(void **state)
{
	static const struct row rows[] = {
		{ "InfiniBand and Ethernet", { IB("a", 1, PREFIX) }, { ETH("r", NET_A) },
		  .why = CANNOT("a", "r") "InfiniBand, RoCE and iWARP do not talk to each other" },
		{ "iWARP, by rdma_cm only", { WARP("a") }, { WARP("b") },
		  .why = CANNOT("a", "b") "iWARP connects by rdma_cm only; add --rdma-cm" },
		{ "iWARP passed over for RoCE", { WARP("a"), ETH("r", NET_A) },
		  { WARP("b"), ETH("s", NET_B) }, .want = { 1, 0, 0, 1, 0, 0 } },
		{ "each finds its like", { IB("a", 1, PREFIX), ETH("r", NET_A) },
		  { ETH("s", NET_B) }, .want = { 1, 0, 0, 0, 0, 0 } },
		{ "InfiniBand first where there is both", { ETH("r", NET_A), IB("a", 1, PREFIX) },
		  { ETH("s", NET_B), IB("b", 2, PREFIX) }, .want = { 1, -1, 0, 1, -1, 0 } },
		{ "no port", { { .device = NULL } }, { ETH("s", NET_B) }, .why = "no active port" },
		{ "none there", { ETH("s", NET_B) }, { { .device = NULL } }, .why = "no active port" },
	};

	(void)state;
	check_rows(rows, COUNT(rows));
}

static void test_gids(void **state)
{
	static const struct row rows[] = {
		{ "global before link-local",
		  { ETH("r", { "fe80::1", 64, V2 }, { "2001:db8::1", 64, V2 }) },
		  { ETH("s", { "fe80::2", 64, V2 }, { "2001:db8::2", 64, V2 }) },
		  .want = { 0, 1, 0, 0, 1, 0 } },
		{ "v2 before v1", { ETH("r", { "2001:db8::1", 64, V1 }, { "2001:db8::1", 64, V2 }) },
		  { ETH("s", { "2001:db8::2", 64, V2 }, { "2001:db8::2", 64, V1 }) },
		  .want = { 0, 1, 0, 0, 0, 0 } },
		{ "a global v1 before a link-local v2",
		  { ETH("r", { "fe80::1", 64, V2 }, { "2001:db8::1", 64, V1 }) },
		  { ETH("s", { "fe80::2", 64, V2 }, { "2001:db8::2", 64, V1 }) },
		  .want = { 0, 1, 0, 0, 1, 0 } },
		{ "IPv4 before IPv6", { ETH("r", { "2001:db8::1", 64, V2 }, NET_A) },
		  { ETH("s", { "2001:db8::2", 64, V2 }, NET_B) }, .want = { 0, 1, 0, 0, 1, 0 } },
		{ "the usual table of a port, in another order on the other",
		  { ETH("r", { "fe80::1", 64, V1 }, { "fe80::1", 64, V2 }, { "::ffff:10.0.0.1", 24, V1 },
			NET_A) },
		  { ETH("s", { "::ffff:10.0.0.2", 24, V1 }, NET_B, { "fe80::2", 64, V1 },
			{ "fe80::2", 64, V2 }) },
		  .want = { 0, 3, 0, 0, 1, 0 } },
		{ "one has v1 only", { ETH("r", { "::ffff:10.0.0.1", 24, V1 }) },
		  { ETH("s", NET_B, { "::ffff:10.0.0.2", 24, V1 }) }, .want = { 0, 0, 0, 0, 1, 0 } },
		{ "routed v2 where nothing else is", { ETH("r", NET_A) },
		  { ETH("s", { "::ffff:10.9.0.2", 24, V2 }) }, .want = { 0, 0, 0, 0, 0, 0 },
		  .routed = true },
		{ "another port on the subnet before a routed one",
		  { ETH("r", NET_A), ETH("t", { "::ffff:10.9.0.1", 24, V2 }) },
		  { ETH("s", { "::ffff:10.9.0.2", 24, V2 }) }, .want = { 1, 0, 0, 0, 0, 0 } },
		{ "v1 is not routed", { ETH("r", { "::ffff:10.0.0.1", 24, V1 }) },
		  { ETH("s", { "::ffff:10.9.0.2", 24, V1 }) }, .why = CANNOT("r", "s") NO_GIDS },
		{ "types differ", { ETH("r", { "::ffff:10.0.0.1", 24, V1 }) }, { ETH("s", NET_B) },
		  .why = CANNOT("r", "s") NO_GIDS },
		{ "families differ", { ETH("r", NET_A) }, { ETH("s", { "2001:db8::2", 64, V2 }) },
		  .why = CANNOT("r", "s") NO_GIDS },
		{ "no GIDs", { { .device = "r", .link = LINK_ETHERNET } }, { ETH("s", NET_B) },
		  .why = CANNOT("r", "s") NO_GIDS },
		{ "a zero GID", { ETH("r", { "::", 0, V2 }) }, { ETH("s", { "::", 0, V2 }) },
		  .why = CANNOT("r", "s") NO_GIDS },
		{ "among equals the earlier ones", { ETH("r", NET_A), ETH("t", NET_A, NET_A) },
		  { ETH("s", NET_B, NET_B), ETH("u", NET_B) }, .want = { 0, 0, 0, 0, 0, 0 } },
	};

	(void)state;
	check_rows(rows, COUNT(rows));
}

#define KEYS(name, l, ...) IB(name, l, PREFIX, .pkeys = { __VA_ARGS__ })
#define NO_PKEY "no P_Key in common of which one is a full member (see --pkey)"

static void test_pkeys(void **state)
{
	static const struct row rows[] = {
		{ "full and full", { KEYS("a", 1, 0x8001) }, { KEYS("b", 2, 0x8001) },
		  .want = { 0, -1, 0, 0, -1, 0 } },
		{ "full and limited", { KEYS("a", 1, 0x8001) }, { KEYS("b", 2, 0x0001) },
		  .want = { 0, -1, 0, 0, -1, 0 } },
		{ "limited and full", { KEYS("a", 1, 0x0001) }, { KEYS("b", 2, 0x8001) },
		  .want = { 0, -1, 0, 0, -1, 0 } },
		{ "limited and limited", { KEYS("a", 1, 0x0001) }, { KEYS("b", 2, 0x0001) },
		  .why = CANNOT("a", "b") NO_PKEY },
		{ "different ones", { KEYS("a", 1, 0x8001) }, { KEYS("b", 2, 0x8002) },
		  .why = CANNOT("a", "b") NO_PKEY },
		{ "an empty place is none", { KEYS("a", 1, 0, 0x8001) }, { KEYS("b", 2, 0, 0x8002) },
		  .why = CANNOT("a", "b") NO_PKEY },
		{ "0x8000 is none either", { KEYS("a", 1, 0x8000) }, { KEYS("b", 2, 0x8000) },
		  .why = CANNOT("a", "b") NO_PKEY },
		{ "the indexes of each end", { KEYS("a", 1, 0x8001, 0, 0xffff) },
		  { KEYS("b", 2, 0x8002, 0x7fff) }, .want = { 0, -1, 2, 0, -1, 1 } },
		{ "the first pair that matches", { KEYS("a", 1, 0x8001, 0x8002) },
		  { KEYS("b", 2, 0x8002, 0x8001) }, .want = { 0, -1, 0, 0, -1, 1 } },
		{ "asked for by value", { KEYS("a", 1, 0xffff, 0x8005) },
		  { KEYS("b", 2, 0xffff, 0, 0x8005) }, .pkey = 0x8005,
		  .want = { 0, -1, 1, 0, -1, 2 } },
		{ "by its low 15 bits", { KEYS("a", 1, 0xffff, 0x8005) },
		  { KEYS("b", 2, 0xffff, 0, 0x0005) }, .pkey = 0x0005,
		  .want = { 0, -1, 1, 0, -1, 2 } },
		{ "asked for and not there", { KEYS("a", 1, 0xffff) }, { KEYS("b", 2, 0xffff) },
		  .pkey = 0x8005,
		  .why = CANNOT("a", "b") NO_PKEY },
		{ "another port has it", { KEYS("a", 1, 0x8001), KEYS("c", 3, 0x8002) },
		  { KEYS("b", 2, 0x8002) }, .want = { 1, -1, 0, 0, -1, 0 } },
	};

	(void)state;
	check_rows(rows, COUNT(rows));
}

/* The names of both ends are in the reason; a small buffer cuts it. */
static void test_small_buffer(void **state)
{
	static const struct port client[PORTS] = { IB("a", 1, PREFIX) };
	static const struct port server[PORTS] = { IB("b", 2, 7) };
	struct candidate_list c = fill_list(client), s = fill_list(server);
	struct candidate_pair pair;
	char why[32];

	(void)state;
	memset(why, '!', sizeof(why));
	assert_int_equal(candidate_pick(&c, &s, OPTION_AUTO, &pair, why, 20), -ENOENT);
	assert_string_equal(why, "client a port 1 and");
	assert_int_equal(why[20], '!');
	candidates_free(&c);
	candidates_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_infiniband), cmocka_unit_test(test_link_layers),
		cmocka_unit_test(test_gids),	   cmocka_unit_test(test_pkeys),
		cmocka_unit_test(test_small_buffer), cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests_name("candidate", tests, NULL, NULL);
}
