/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the files of cm; no one else includes this. */
#ifndef COMMON_CM_PARTS_H
#define COMMON_CM_PARTS_H

#include "cm.h"

#define CM_DATA (4 + CM_TOKEN + 4) /* of the 56 bytes that a connection request can carry */
#define CM_RESOLVE_MS 4000

/* An event that has been acked already, so that no path can forget it. */
struct cm_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	bool of_listener; /* a request: @id is new and the caller's */
	uint8_t data[CM_DATA];
	size_t data_len;
	struct ibv_ah_attr ah; /* UD */
	uint32_t qpn, qkey;    /* UD */
};

/* The next event; -1 with the reason when the deadline, a signal or the peer came first. */
int cm_next_event(struct cm *cm, const struct cm_watch *w, struct cm_event *e, struct error *err);
/* Takes what the peer says: 0, or -1 when it aborted, is gone, or says what it should not. */
int cm_take_message(struct cm *cm, const struct cm_watch *w, struct error *err);
/* An event that is not the one that was due, as an error. */
int cm_event_failed(const struct cm *cm, const struct cm_event *e, const char *what,
		    struct error *err);
/* A peer that dies or gives up spoils what is under way: then its own word is the reason. */
void cm_prefer_news_of_peer(struct cm *cm, const struct cm_watch *w, struct error *err);

struct rdma_cm_id *cm_new_id(struct cm *cm, unsigned int index, struct error *err);

static inline unsigned int cm_index(const struct rdma_cm_id *id)
{
	return (unsigned int)(uintptr_t)id->context;
}

static inline void cm_set_port(struct sockaddr_storage *s, uint16_t port)
{
	if (s->ss_family == AF_INET)
		((struct sockaddr_in *)(void *)s)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)(void *)s)->sin6_port = htons(port);
}

/* The private data of a request: whose it is, and for which QP. Pure. */
void cm_data_fill(uint8_t data[CM_DATA], const struct cm_offer *o, uint32_t index);
/* 0 and the QP, or -EINVAL when it is none of ours. */
int cm_data_check(const uint8_t *data, size_t len, const struct cm_offer *o, uint32_t *index);

#endif
