/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "candidate.h"

#include <errno.h>
#include <stdlib.h>

#include "options.h"

#define PKEY_FULL 0x8000
#define PKEY_BASE 0x7fff

const char *candidate_link_name(enum candidate_link link)
{
	static const char *const names[] = { "InfiniBand", "Ethernet", "iWARP" };

	return names[link];
}

void candidates_free(struct candidate_list *l)
{
	free(l->v);
	l->v = NULL;
	l->count = 0;
}

static bool pkeys_talk(uint16_t a, uint16_t b, uint64_t wanted)
{
	return (a & PKEY_BASE) && (a & PKEY_BASE) == (b & PKEY_BASE) && ((a | b) & PKEY_FULL) &&
	       (wanted == OPTION_AUTO || (a & PKEY_BASE) == (wanted & PKEY_BASE));
}

int candidate_match_pkeys(const struct candidate *a, const struct candidate *b, uint64_t pkey,
			  int *index_a, int *index_b)
{
	for (int i = 0; i < a->pkey_count; i++)
		for (int k = 0; k < b->pkey_count; k++)
			if (pkeys_talk(a->pkeys[i], b->pkeys[k], pkey)) {
				*index_a = i;
				*index_b = k;
				return 0;
			}
	return -1;
}

/* Why nothing fits; the one that came furthest is told. */
enum reason { NO_PORTS, LINKS_DIFFER, ONLY_BY_CM, NO_LID, PREFIXES_DIFFER, GIDS_DIFFER, PKEYS_DIFFER };

struct search {
	enum reason reason;
	const struct candidate *a, *b; /* the pair that came that far */
	int rank;
};

static void note_reason(struct search *s, enum reason r, const struct candidate *a,
			const struct candidate *b)
{
	if (r < s->reason)
		return;
	s->reason = r;
	s->a = a;
	s->b = b;
}

/* Rank of two InfiniBand ports; a GRH needs GIDs of both, the first ones unless -x chose. */
static int rank_ib(const struct candidate *a, const struct candidate *b, struct search *s,
		   int *gid_a, int *gid_b)
{
	bool grh = a->grh || b->grh;

	if (!a->lid || !b->lid) {
		note_reason(s, NO_LID, a, b);
		return 0;
	}
	if (a->prefix != b->prefix) {
		note_reason(s, PREFIXES_DIFFER, a, b);
		return 0;
	}
	if (grh && (!a->gid_count || !b->gid_count)) {
		note_reason(s, GIDS_DIFFER, a, b);
		return 0;
	}
	*gid_a = *gid_b = grh ? 0 : -1;
	return 1000;
}

static int rank_ethernet(const struct candidate *a, const struct candidate *b, struct search *s,
			 int *gid_a, int *gid_b)
{
	int best = 0;

	for (int i = 0; i < a->gid_count; i++)
		for (int k = 0; k < b->gid_count; k++) {
			int rank = gid_pair_rank(&a->gids[i], &b->gids[k]);

			if (rank <= best)
				continue;
			best = rank;
			*gid_a = i;
			*gid_b = k;
		}
	if (!best)
		note_reason(s, GIDS_DIFFER, a, b);
	return best;
}

static void try_pair(const struct candidate_list *client, int i,
		     const struct candidate_list *server, int k, uint64_t pkey, struct search *s,
		     struct candidate_pair *pair)
{
	const struct candidate *a = &client->v[i], *b = &server->v[k];
	int gid_a = -1, gid_b = -1, pkey_a, pkey_b, rank;

	if (a->link != b->link) {
		note_reason(s, LINKS_DIFFER, a, b);
		return;
	}
	if (a->link == LINK_IWARP) {
		note_reason(s, ONLY_BY_CM, a, b);
		return;
	}
	rank = a->link == LINK_IB ? rank_ib(a, b, s, &gid_a, &gid_b) :
				    rank_ethernet(a, b, s, &gid_a, &gid_b);
	if (rank && candidate_match_pkeys(a, b, pkey, &pkey_a, &pkey_b)) {
		note_reason(s, PKEYS_DIFFER, a, b);
		rank = 0;
	}
	if (rank <= s->rank)
		return;
	s->rank = rank;
	pair->client = (struct candidate_choice){ i, gid_a, pkey_a };
	pair->server = (struct candidate_choice){ k, gid_b, pkey_b };
	pair->routed = a->link == LINK_ETHERNET && !gid_same_subnet(&a->gids[gid_a], &b->gids[gid_b]);
}

static const char *reason_text(enum reason r)
{
	switch (r) {
	case LINKS_DIFFER:
		return "InfiniBand, RoCE and iWARP do not talk to each other";
	case ONLY_BY_CM:
		return "iWARP connects by rdma_cm only; add --rdma-cm";
	case NO_LID:
		return "a LID is 0: no subnet manager has configured the port";
	case PREFIXES_DIFFER:
		return "different InfiniBand subnet prefixes; a router needs the path from rdma_cm";
	case GIDS_DIFFER:
		return "no two GIDs of one type and address family on one subnet (see -x; show the "
		       "tables with ibv_devinfo -v)";
	case PKEYS_DIFFER:
		return "no P_Key in common of which one is a full member (see --pkey)";
	default:
		return "no active port";
	}
}

int candidate_pick(const struct candidate_list *client, const struct candidate_list *server,
		   uint64_t pkey, struct candidate_pair *pair, char *why, size_t cap)
{
	struct search s = { .reason = NO_PORTS };

	for (int i = 0; i < client->count; i++)
		for (int k = 0; k < server->count; k++)
			try_pair(client, i, server, k, pkey, &s, pair);
	if (s.rank)
		return 0;
	if (s.a)
		snprintf(why, cap, "client %s port %u and server %s port %u cannot talk: %s",
			 s.a->device, s.a->port, s.b->device, s.b->port, reason_text(s.reason));
	else
		snprintf(why, cap, "%s", reason_text(s.reason));
	return -ENOENT;
}

int candidate_check(const struct candidate_list *client, const struct candidate_list *server,
		    struct candidate_pair *pair)
{
	const struct candidate *a = &client->v[pair->client.candidate];
	const struct candidate *b = &server->v[pair->server.candidate];
	int gid_a = pair->client.gid, gid_b = pair->server.gid;

	if (a->link == LINK_IWARP)
		return b->link == LINK_IWARP ? 0 : -EINVAL;
	if (a->link != b->link || (gid_a < 0) != (gid_b < 0) ||
	    !pkeys_talk(a->pkeys[pair->client.pkey_index], b->pkeys[pair->server.pkey_index],
			OPTION_AUTO))
		return -EINVAL;
	if (a->link == LINK_IB)
		return a->prefix == b->prefix ? 0 : -EINVAL;
	pair->routed = !gid_same_subnet(&a->gids[gid_a], &b->gids[gid_b]);
	return gid_pair_rank(&a->gids[gid_a], &b->gids[gid_b]) ? 0 : -EINVAL;
}
