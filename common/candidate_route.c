/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pair that an address leads to, and the addresses that lead to a pair. Pure. */
#include "candidate.h"

#include <errno.h>
#include <string.h>

#include "options.h"

#define PKEY_BASE 0x7fff

static void names(const struct candidate_list *l, char *out, size_t cap)
{
	size_t len = 0;

	snprintf(out, cap, "none");
	for (int i = 0; i < l->count && len < cap; i++)
		len += (size_t)snprintf(out + len, cap - len, "%s%s port %u", i ? ", " : "",
					l->v[i].device, l->v[i].port);
}

static bool same_gid(const struct gid_entry *g, const union ibv_gid *gid)
{
	return !memcmp(&g->gid, gid, sizeof(*gid));
}

/* RoCE has each GID as v1 and as v2. */
static bool comes_again(const struct candidate *c, int gid)
{
	for (int i = 0; i < gid; i++)
		if (same_gid(&c->gids[i], &c->gids[gid].gid))
			return true;
	return false;
}

void candidates_addresses(const struct candidate_list *l, char *out, size_t cap)
{
	size_t len = 0;

	*out = '\0';
	for (int i = 0; i < l->count; i++)
		for (int k = 0; k < l->v[i].gid_count && len < cap; k++) {
			const struct gid_entry *g = &l->v[i].gids[k];
			char text[GID_TEXT_MAX];

			if (l->v[i].link != LINK_ETHERNET || gid_is_link_local(&g->gid) ||
			    comes_again(&l->v[i], k))
				continue;
			gid_text(&g->gid, text);
			len += (size_t)snprintf(out + len, cap - len, "%s%s (%s)", len ? ", " : "",
						text + (gid_is_ipv4(&g->gid) ? strlen("::ffff:") : 0),
						l->v[i].device);
		}
}

static int find_port(const struct candidate_list *l, const struct candidate_route *r)
{
	for (int i = 0; i < l->count; i++)
		if (!strcmp(l->v[i].device, r->device) && l->v[i].port == r->port)
			return i;
	return -1;
}

/* The one with the GID, then any: nothing else tells the ports of iWARP apart. */
static int rank_iwarp(const struct candidate *b, const struct candidate_route *r)
{
	for (int k = 0; k < b->gid_count; k++)
		if (same_gid(&b->gids[k], &r->dgid))
			return 2;
	return 1;
}

/* The best two entries of the two GIDs. */
static int rank_gids(const struct candidate *a, const struct candidate *b,
		     const struct candidate_route *r, int *gid_a, int *gid_b)
{
	int best = 0;

	if (a->link == LINK_IWARP)
		return rank_iwarp(b, r);
	for (int i = 0; i < a->gid_count; i++)
		for (int k = 0; k < b->gid_count; k++) {
			int rank = a->link == LINK_IB ? 1 : gid_pair_rank(&a->gids[i], &b->gids[k]);

			if (!same_gid(&a->gids[i], &r->sgid) || !same_gid(&b->gids[k], &r->dgid) ||
			    rank <= best)
				continue;
			best = rank;
			*gid_a = i;
			*gid_b = k;
		}
	return best;
}

static int pick_server(const struct candidate_list *client, int i,
		       const struct candidate_list *server, const struct candidate_route *r,
		       struct candidate_pair *pair)
{
	const struct candidate *a = &client->v[i];
	int best = 0;

	for (int k = 0; k < server->count; k++) {
		const struct candidate *b = &server->v[k];
		int gid_a = -1, gid_b = -1;
		int rank = a->link == b->link ? rank_gids(a, b, r, &gid_a, &gid_b) : 0;

		if (rank <= best)
			continue;
		best = rank;
		pair->client = (struct candidate_choice){ i, gid_a, 0 };
		pair->server = (struct candidate_choice){ k, gid_b, 0 };
	}
	return best ? 0 : -ENOENT;
}

static int pick_pkeys(const struct candidate *a, const struct candidate *b,
		      const struct candidate_route *r, uint64_t pkey, struct candidate_pair *pair)
{
	if (a->link == LINK_IWARP)
		return pkey == OPTION_AUTO ? 0 : -EINVAL;
	if (pkey != OPTION_AUTO && (pkey & PKEY_BASE) != (r->pkey & PKEY_BASE))
		return -EINVAL;
	return candidate_match_pkeys(a, b, r->pkey & PKEY_BASE, &pair->client.pkey_index,
				     &pair->server.pkey_index) ? -EINVAL : 0;
}

/* InfiniBand without a GRH has no GID in the pair. */
static void finish_pair(const struct candidate *a, const struct candidate *b,
			struct candidate_pair *pair)
{
	if (a->link == LINK_ETHERNET)
		pair->routed = !gid_same_subnet(&a->gids[pair->client.gid],
						&b->gids[pair->server.gid]);
	else if (a->link == LINK_IB && !a->grh && !b->grh)
		pair->client.gid = pair->server.gid = -1;
}

int candidate_pick_route(const struct candidate_list *client, const struct candidate_list *server,
			 const struct candidate_route *r, uint64_t pkey,
			 struct candidate_pair *pair, char *why, size_t cap)
{
	int i = find_port(client, r);
	char list[160], gid[GID_TEXT_MAX];

	*pair = (struct candidate_pair){ .routed = false };
	if (i < 0) {
		names(client, list, sizeof(list));
		snprintf(why, cap, "rdma_cm takes %s port %u for the client's address %s, and what was "
			 "asked for leaves %s (see -d and -i)", r->device, r->port, r->from, list);
		return -ENOENT;
	}
	if (pick_server(client, i, server, r, pair)) {
		names(server, list, sizeof(list));
		gid_text(&r->dgid, gid);
		snprintf(why, cap, "rdma_cm goes from %s to %s (GID %s), which is on no port that the "
			 "server offers: %s (see -d, -i and -x on both ends)", r->device, r->to, gid,
			 list);
		return -ENOENT;
	}
	if (pick_pkeys(&client->v[i], &server->v[pair->server.candidate], r, pkey, pair)) {
		snprintf(why, cap, "rdma_cm's path from %s to %s has P_Key 0x%04x, which is not what "
			 "--pkey asks for or not in both tables", r->from, r->to, r->pkey);
		if (client->v[i].link == LINK_IWARP)
			snprintf(why, cap, "iWARP has no P_Keys; leave out --pkey");
		return -ENOENT;
	}
	finish_pair(&client->v[i], &server->v[pair->server.candidate], pair);
	return 0;
}
