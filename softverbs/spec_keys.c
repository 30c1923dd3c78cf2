/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every key of a SPEC: its form, its place in the structs, its range. */
#include <arpa/inet.h>
#include <string.h>

#include "spec_parse.h"

static void *place(struct spec_build *b, const struct spec_key *k)
{
	return (k->scope == SPEC_OF_DEVICE ? (char *)b->dev : (char *)b->to) + k->off;
}

static void store(void *to, size_t size, uint64_t v)
{
	uint32_t u32 = (uint32_t)v;
	uint16_t u16 = (uint16_t)v;
	uint8_t u8 = (uint8_t)v;

	memcpy(to, size == 1 ? (void *)&u8 : size == 2 ? (void *)&u16 :
	       size == 4 ? (void *)&u32 : (void *)&v, size);
}

static int set_number(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	uint64_t n;

	if (spec_number(v, k->min, k->max, &n))
		return spec_bad(b->err, v, "a number from %llu to %llu",
				(unsigned long long)k->min, (unsigned long long)k->max);
	store(place(b, k), k->size, n);
	return 0;
}

static int set_name(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	int n = spec_lookup(k->names, "", v);
	char names[512];

	if (n < 0)
		return spec_bad(b->err, v, "%s", spec_names(k->names, names, sizeof(names)));
	store(place(b, k), k->size, (uint64_t)n);
	return 0;
}

static int set_bits(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	struct spec_tok item;
	unsigned int bits = 0;
	char names[512];

	while (spec_split(&v, '|', &item)) {
		int n = spec_lookup(k->names, "", item);

		if (n < 0)
			return spec_bad(b->err, item, "%s",
					spec_names(k->names, names, sizeof(names)));
		bits |= (unsigned int)n;
	}
	store(place(b, k), k->size, bits);
	return 0;
}

static int set_flag(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	(void)v;
	store(place(b, k), k->size, 1);
	return 0;
}

static int set_async(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	b->dev->async = true;
	return set_number(b, k, v);
}

static int set_dist(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	return spec_dist(b, v, place(b, k));
}

static int set_trace(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	if (!v.n || v.n >= sizeof(b->dev->trace))
		return spec_bad(b->err, v, "a path of 1 to %zu characters",
				sizeof(b->dev->trace) - 1);
	memcpy(place(b, k), v.s, v.n);
	return 0;
}

/* Decimal prefixes; b is bits, B bytes, as the reports of this suite have it. */
static int set_bw(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	static const char *const prefixes[] = { "", "K", "M", "G", "T" };
	double scale = 1, n;

	for (int i = 0; i < 5; i++, scale *= 1e3) {
		for (size_t at = 0; at < v.n; at++) {
			struct spec_tok unit = spec_skip(v, at), num = v;
			size_t len = strlen(prefixes[i]);
			bool bytes = unit.n > len && unit.s[len] == 'B';

			num.n = at;
			if (unit.n != len + 3 || strncmp(unit.s, prefixes[i], len) ||
			    (!bytes && unit.s[len] != 'b') || strncmp(unit.s + len + 1, "/s", 2))
				continue;
			if (spec_decimal(num, &n) || n * scale < 1 || n * scale > 1e15)
				break;
			store(place(b, k), k->size, (uint64_t)(n * scale * (bytes ? 8 : 1)));
			return 0;
		}
	}
	return spec_bad(b->err, v, "a rate such as 100Gb/s or 12.5GB/s (K, M, G, T; b bits, "
			"B bytes)");
}

/* ADDR[/v1|/v2]: an IPv6 address, or an IPv4 one, which is mapped into it. */
static int parse_gid(struct spec_tok t, union ibv_gid *gid, enum ibv_gid_type *type)
{
	struct spec_tok addr, ver;
	char text[INET6_ADDRSTRLEN];

	*type = IBV_GID_TYPE_ROCE_V2;
	if (spec_cut(t, '/', &addr, &ver)) {
		if (!spec_is(ver, "v1") && !spec_is(ver, "v2"))
			return -1;
		*type = spec_is(ver, "v1") ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
	}
	if (addr.n >= sizeof(text))
		return -1;
	memcpy(text, addr.s, addr.n);
	text[addr.n] = 0;
	if (inet_pton(AF_INET6, text, gid->raw) == 1)
		return 0;
	memset(gid->raw, 0, 10);
	memset(gid->raw + 10, 0xff, 2);
	return inet_pton(AF_INET, text, gid->raw + 12) == 1 ? 0 : -1;
}

static int set_gids(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	struct spec_port *p = b->to;
	struct spec_tok item;

	(void)k;
	p->ngids = 0;
	if (spec_is(v, "none"))
		return 0;
	while (spec_split(&v, '|', &item)) {
		if (p->ngids == SPEC_GIDS)
			return spec_bad(b->err, item, "at most %d GIDs", SPEC_GIDS);
		if (parse_gid(item, &p->gid[p->ngids], &p->gid_type[p->ngids]))
			return spec_bad(b->err, item, "an IPv6 or IPv4 address, with /v1 or /v2 "
					"for the RoCE version, or none");
		p->ngids++;
	}
	return 0;
}

static int set_pkeys(struct spec_build *b, const struct spec_key *k, struct spec_tok v)
{
	struct spec_port *p = b->to;
	struct spec_tok item;
	uint64_t n;

	(void)k;
	for (p->npkeys = 0; spec_split(&v, '|', &item); p->npkeys++) {
		if (p->npkeys == SPEC_PKEYS)
			return spec_bad(b->err, item, "at most %d P_Keys", SPEC_PKEYS);
		if (spec_number(item, 0, 0xffff, &n))
			return spec_bad(b->err, item, "a P_Key, 0 to 0xffff");
		p->pkey[p->npkeys] = (uint16_t)n;
	}
	return 0;
}

static const struct spec_name link_names[] = { { "ib", SPEC_LINK_IB }, { "eth", SPEC_LINK_ETH },
	{ "iwarp", SPEC_LINK_IWARP }, { NULL, 0 } };
static const struct spec_name state_names[] = { { "down", IBV_PORT_DOWN },
	{ "init", IBV_PORT_INIT }, { "armed", IBV_PORT_ARMED }, { "active", IBV_PORT_ACTIVE },
	{ NULL, 0 } };
static const struct spec_name mtu_names[] = { { "256", IBV_MTU_256 }, { "512", IBV_MTU_512 },
	{ "1024", IBV_MTU_1024 }, { "2048", IBV_MTU_2048 }, { "4096", IBV_MTU_4096 }, { NULL, 0 } };
static const struct spec_name atomic_names[] = { { "none", IBV_ATOMIC_NONE },
	{ "hca", IBV_ATOMIC_HCA }, { "glob", IBV_ATOMIC_GLOB }, { NULL, 0 } };
static const struct spec_name type_names[] = { { "RC", SPEC_RC }, { "UC", SPEC_UC },
	{ "UD", SPEC_UD }, { NULL, 0 } };
static const struct spec_name width_names[] = { { "1x", 1 }, { "2x", 16 }, { "4x", 2 },
	{ "8x", 4 }, { "12x", 8 }, { NULL, 0 } };
static const struct spec_name speed_names[] = { { "SDR", 1 }, { "DDR", 2 }, { "QDR", 4 },
	{ "FDR10", 8 }, { "FDR", 16 }, { "EDR", 32 }, { "HDR", 64 }, { "NDR", 128 }, { NULL, 0 } };
static const struct spec_name mode_names[] = { { "shared", SPEC_MODE_SHARED },
	{ "pvm", SPEC_MODE_PVM }, { NULL, 0 } };
static const struct spec_name complete_names[] = { { "post", 1 }, { NULL, 0 } };

#define DEV(member) offsetof(struct spec_device, member), sizeof(((struct spec_device *)0)->member)
#define PORT(member) offsetof(struct spec_port, member), sizeof(((struct spec_port *)0)->member)
#define D SPEC_VALUE, SPEC_OF_DEVICE, false
#define L SPEC_VALUE, SPEC_OF_DEVICE, true
#define P SPEC_VALUE, SPEC_OF_PORTS, false
#define P1 SPEC_VALUE, SPEC_OF_PORT1, false

const struct spec_key spec_keys[] = {
	{ "delay", D, set_dist, DEV(delay), 0, 0, NULL,
	  "Delays", "DELAY",
	  "one draw a work request, from its post to its effect; READ, ATOMIC: round trip", NULL },
	{ "out", D, set_dist, DEV(out), 0, 0, NULL,
	  NULL, "DELAY", "the same, of the way there alone", NULL },
	{ "back", D, set_dist, DEV(back), 0, 0, NULL,
	  NULL, "DELAY", "of the way back alone", NULL },
	{ "bw", D, set_bw, DEV(bw), 0, 0, NULL,
	  NULL, "RATE", "100Gb/s, 12.5GB/s: K, M, G, T by thousands; b bits, B bytes", "no limit" },
	{ "seed", D, set_number, DEV(seed), 0, UINT64_MAX, NULL,
	  NULL, "N", "of the random draws of the device", "0" },
	{ "drop", L, spec_set_chance, DEV(fault.drop), 0, 0, NULL,
	  "Faults", "LIST",
	  "lost: a probability, or N@K: N messages from the K-th on; RC retries", NULL },
	{ "dup", L, spec_set_chance, DEV(fault.dup), 0, 0, NULL,
	  NULL, "LIST", "delivered twice; the same form; UC and UD", NULL },
	{ "corrupt", L, spec_set_chance, DEV(fault.corrupt), 0, 0, NULL,
	  NULL, "LIST", "discarded as corrupt; the same form", NULL },
	{ "rnr", L, spec_set_chance, DEV(fault.rnr), 0, 0, NULL,
	  NULL, "LIST", "the responder says not ready; the same form", NULL },
	{ "flip", L, spec_set_flip, DEV(fault.flip), 0, 0, NULL,
	  NULL, "LIST",
	  "N@OFFSET: bit 0 of this byte of the N-th message is inverted, unnoticed", NULL },
	{ "err", L, spec_set_err, DEV(fault.err), 0, 0, NULL,
	  NULL, "LIST",
	  "STATUS@N: the N-th work request completes so, e.g. REM_ACCESS_ERR@3", NULL },
	{ "fail", L, spec_set_fail, DEV(fault.fail), 0, 0, NULL,
	  NULL, "LIST",
	  "CALL@K[:ERRNO]: the K-th call of a verb fails (ENOMEM); any: of all verbs", NULL },
	{ "event", SPEC_VALUE, SPEC_OF_PORT1, true, spec_set_event, 0, 0, 0, 0, NULL,
	  NULL, "LIST",
	  "NAME@N: async event with the N-th work request, @0 at once, @TIME later", NULL },
	{ "stall", L, spec_set_stall, DEV(fault.stall), 0, 0, NULL,
	  NULL, "LIST",
	  "TIME@N: the process loses its CPU for so long in the N-th work request", NULL },
	{ "die", SPEC_AT, SPEC_OF_DEVICE, false, set_number, DEV(fault.die), 1, UINT64_MAX, NULL,
	  NULL, "N", "the process is killed at its N-th work request", NULL },
	{ "hang", SPEC_AT, SPEC_OF_DEVICE, false, set_number, DEV(fault.hang), 1, UINT64_MAX, NULL,
	  NULL, "N", "the process stops at its N-th work request", NULL },
	{ "complete", D, set_name, DEV(complete_post), 0, 0, complete_names,
	  "How it completes", NULL, "sends complete at once, their data comes later", NULL },
	{ "async", D, set_async, DEV(async_seed), 0, UINT64_MAX, NULL,
	  NULL, "SEED",
	  "the payload is read when it falls due, completions come in random batches", NULL },
	{ "trace", D, set_trace, DEV(trace), 0, 0, NULL,
	  NULL, "PATH", "planted delays and faults with their work requests, to PATH.PID", NULL },
	{ "mode", D, set_name, DEV(mode), 0, 0, mode_names,
	  NULL, NULL, "memory mapped by both processes, or copied by process_vm calls", "shared" },
	{ "atomic", D, set_name, DEV(atomic), 0, 0, atomic_names,
	  "Device", NULL, "what ibv_query_device says", "glob" },
	{ "types", D, set_bits, DEV(types), 0, 0, type_names,
	  NULL, NULL, "what ibv_create_qp makes, a list", "all" },
	{ "max_inline", D, set_number, DEV(max_inline), 0, 4096, NULL,
	  NULL, "N", "bytes of inline data", "1024" },
	{ "max_cqe", D, set_number, DEV(max_cqe), 1, 1u << 24, NULL,
	  NULL, "N", "entries of a CQ", "4194303" },
	{ "max_qp", D, set_number, DEV(max_qp), 1, 1u << 20, NULL,
	  NULL, "N", "queue pairs", "131072" },
	{ "max_qp_wr", D, set_number, DEV(max_qp_wr), 1, 1u << 20, NULL,
	  NULL, "N", "work requests of a queue", "32768" },
	{ "max_rd_atomic", D, set_number, DEV(max_rd_atomic), 0, 255, NULL,
	  NULL, "N", "READs and atomics under way", "16" },
	{ "max_msg", D, set_number, DEV(max_msg), SPEC_MAX_MSG_LEAST, 1u << 31, NULL,
	  NULL, "N", "bytes of a message", "2147483648" },
	{ "max_mr_size", D, set_number, DEV(max_mr_size), 4096, UINT64_MAX, NULL,
	  NULL, "N", "bytes of a memory region", "no limit" },
	{ "ports", D, set_number, DEV(nports), 1, SPEC_PORTS, NULL,
	  NULL, "N", "ports of the device", "1" },
	{ "link", P, set_name, PORT(link), 0, 0, link_names,
	  "Ports (portN.KEY: of port N alone)", NULL, "link layer", "ib" },
	{ "state", P, set_name, PORT(state), 0, 0, state_names,
	  NULL, NULL, "state of the port", "active" },
	{ "lid", P1, set_number, PORT(lid), 0, 0xffff, NULL,
	  NULL, "N", "LID", "number of the port; eth, iwarp: 0" },
	{ "sm_lid", P, set_number, PORT(sm_lid), 0, 0xffff, NULL,
	  NULL, "N", "LID of the subnet manager", "1; eth, iwarp: 0" },
	{ "lmc", P, set_number, PORT(lmc), 0, 7, NULL,
	  NULL, "N", "LID mask control", "0" },
	{ "mtu", P, set_name, PORT(mtu), 0, 0, mtu_names,
	  NULL, NULL, "active MTU", "4096" },
	{ "gids", P1, set_gids, PORT(gid), 0, 0, NULL,
	  NULL, "LIST",
	  "none, or IP addresses, with /v1 or /v2 for RoCE", "fe80:: and the GUID" },
	{ "pkeys", P, set_pkeys, PORT(pkey), 0, 0, NULL,
	  NULL, "LIST", "P_Key table", "0xffff" },
	{ "width", P, set_name, PORT(width), 0, 0, width_names,
	  NULL, NULL, "link width", "4x" },
	{ "speed", P, set_name, PORT(speed), 0, 0, speed_names,
	  NULL, NULL, "link speed", "EDR" },
	{ "grh_required", SPEC_FLAG, SPEC_OF_PORTS, false, set_flag, PORT(grh_required), 0, 0, NULL,
	  NULL, NULL, "a flag, without a value", "no; eth: yes" },
	{ NULL, D, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL },
};
