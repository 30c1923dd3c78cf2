/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pair that rdma_cm's route leads to, and what is said when it leads to none. */
#include "unit.h"

#include "candidate.h"
#include "options.h"

#define IPV4_A "::ffff:10.0.0.1"
#define IPV4_B "::ffff:10.0.0.2"
#define LOCAL_A "fe80::a"
#define LOCAL_B "fe80::b"

static void add_gid(struct candidate *c, const char *text, enum gid_type type)
{
	struct gid_entry *g = &c->gids[c->gid_count++];

	memset(g, 0, sizeof(*g));
	assert_int_equal(gid_parse(text, &g->gid), 0);
	g->index = (uint32_t)(10 + c->gid_count);
	g->type = type;
	g->prefix_len = 24;
}

/* A port with a link-local GID and an IPv4 one, each as RoCE v1 and v2. */
static void fill(struct candidate *c, const char *device, enum candidate_link link,
		 const char *local, const char *ipv4)
{
	memset(c, 0, sizeof(*c));
	snprintf(c->device, sizeof(c->device), "%s", device);
	c->port = 1;
	c->link = link;
	c->lid = 1;
	c->pkeys[0] = 0xffff;
	c->pkeys[1] = 0x8001;
	c->pkey_count = 2;
	for (int i = 0; i < 2; i++)
		add_gid(c, i ? ipv4 : local, link == LINK_IB ? GID_TYPE_IB : GID_TYPE_ROCE_V1);
	for (int i = 0; i < 2 && link == LINK_ETHERNET; i++)
		add_gid(c, i ? ipv4 : local, GID_TYPE_ROCE_V2);
}

static struct candidate a[2], b[2];
static const struct candidate_list client = { a, 2 }, server = { b, 2 };

static struct candidate_route route(const char *device, const char *from, const char *to)
{
	struct candidate_route r = { .device = device, .port = 1, .pkey = 0xffff,
				     .from = "10.0.0.1", .to = "10.0.0.2" };

	assert_int_equal(gid_parse(from, &r.sgid), 0);
	assert_int_equal(gid_parse(to, &r.dgid), 0);
	return r;
}

static int setup(void **state)
{
	(void)state;
	fill(&a[0], "a0", LINK_ETHERNET, "fe80::1", "::ffff:10.0.1.1");
	fill(&a[1], "a1", LINK_ETHERNET, LOCAL_A, IPV4_A);
	fill(&b[0], "b0", LINK_ETHERNET, "fe80::2", "::ffff:10.0.1.2");
	fill(&b[1], "b1", LINK_ETHERNET, LOCAL_B, IPV4_B);
	return 0;
}

static void test_roce(void **state)
{
	struct candidate_route r = route("a1", IPV4_A, IPV4_B);
	struct candidate_pair p;
	char why[400];

	(void)state;
	assert_int_equal(candidate_pick_route(&client, &server, &r, OPTION_AUTO, &p, why, 400), 0);
	assert_int_equal(p.client.candidate, 1);
	assert_int_equal(p.server.candidate, 1);
	assert_int_equal(p.client.gid, 3); /* v2 before v1 */
	assert_int_equal(p.server.gid, 3);
	assert_false(p.routed);
	r = route("a1", LOCAL_A, LOCAL_B);
	assert_int_equal(candidate_pick_route(&client, &server, &r, OPTION_AUTO, &p, why, 400), 0);
	assert_int_equal(p.client.gid, 2);
}

static void test_ib(void **state)
{
	struct candidate_route r = route("a1", LOCAL_A, LOCAL_B);
	struct candidate_pair p;
	char why[400];

	(void)state;
	fill(&a[1], "a1", LINK_IB, LOCAL_A, IPV4_A);
	fill(&b[1], "b1", LINK_IB, LOCAL_B, IPV4_B);
	r.pkey = 0x8001;
	assert_int_equal(candidate_pick_route(&client, &server, &r, OPTION_AUTO, &p, why, 400), 0);
	assert_int_equal(p.client.gid, -1);
	assert_int_equal(p.client.pkey_index, 1);
	assert_int_equal(p.server.pkey_index, 1);
	b[1].grh = true;
	assert_int_equal(candidate_pick_route(&client, &server, &r, OPTION_AUTO, &p, why, 400), 0);
	assert_int_equal(p.client.gid, 0);
}

static void test_iwarp(void **state)
{
	struct candidate_route r = route("a1", LOCAL_A, LOCAL_B);
	struct candidate_pair p;
	char why[400];

	(void)state;
	fill(&a[1], "a1", LINK_IWARP, LOCAL_A, IPV4_A);
	fill(&b[0], "b0", LINK_IWARP, "fe80::2", "::ffff:10.0.1.2");
	fill(&b[1], "b1", LINK_IWARP, LOCAL_B, IPV4_B);
	a[1].pkey_count = b[0].pkey_count = b[1].pkey_count = 0;
	r.pkey = 0;
	assert_int_equal(candidate_pick_route(&client, &server, &r, OPTION_AUTO, &p, why, 400), 0);
	assert_int_equal(p.client.candidate, 1);
	assert_int_equal(p.client.gid, -1);
	assert_int_equal(p.server.candidate, 1);
	assert_int_equal(candidate_check(&client, &server, &p), 0);
	/* Behind a router the GID is that of the router. */
	r = route("a1", LOCAL_A, "fe80::9");
	assert_int_equal(candidate_pick_route(&client, &server, &r, OPTION_AUTO, &p, why, 400), 0);
	assert_int_equal(p.server.candidate, 0);
	assert_int_not_equal(candidate_pick_route(&client, &server, &r, 0xffff, &p, why, 400), 0);
	assert_contains(why, "iWARP has no P_Keys; leave out --pkey");
	fill(&b[0], "b0", LINK_ETHERNET, LOCAL_B, IPV4_B);
	b[1] = b[0];
	assert_int_not_equal(candidate_pick_route(&client, &server, &r, OPTION_AUTO, &p, why, 400), 0);
}

static void refused(struct candidate_route r, uint64_t pkey, const char *text)
{
	struct candidate_pair p;
	char why[400] = "";

	assert_int_not_equal(candidate_pick_route(&client, &server, &r, pkey, &p, why, 400), 0);
	assert_contains(why, text);
}

static void test_refusals(void **state)
{
	struct candidate_route other_pkey = route("a1", IPV4_A, IPV4_B);

	(void)state;
	refused(route("a7", IPV4_A, IPV4_B), OPTION_AUTO,
		"takes a7 port 1 for the client's address 10.0.0.1, and what was asked for leaves a0 port 1, a1");
	refused(route("a1", IPV4_A, "::ffff:10.0.0.9"), OPTION_AUTO,
		"(GID ::ffff:10.0.0.9), which is on no port that the server offers: b0 port 1, b1");
	refused(route("a1", IPV4_B, IPV4_B), OPTION_AUTO, "on no port");
	refused(route("a1", IPV4_A, IPV4_B), 0x8001, "--pkey");
	other_pkey.pkey = 0x8005;
	refused(other_pkey, OPTION_AUTO, "P_Key 0x8005");
}

static void test_addresses(void **state)
{
	char text[100];

	(void)state;
	candidates_addresses(&server, text, sizeof(text));
	assert_string_equal(text, "10.0.1.2 (b0), 10.0.0.2 (b1)");
	fill(&b[1], "b1", LINK_IB, LOCAL_B, IPV4_B);
	candidates_addresses(&server, text, sizeof(text));
	assert_string_equal(text, "10.0.1.2 (b0)");
	candidates_addresses(&server, text, 8);
	assert_int_equal(strlen(text), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_roce, setup),
		cmocka_unit_test_setup(test_ib, setup),
		cmocka_unit_test_setup(test_iwarp, setup),
		cmocka_unit_test_setup(test_refusals, setup),
		cmocka_unit_test_setup(test_addresses, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
