/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_cm's channel and its events; the server's listener; the end of the connections. */
#include "cm_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "deadline.h"

#define SLICE_MS 100 /* how often a wait looks at stop_signal */
#define NEWS_NS (300 * NS_PER_MS)
#define DISCONNECT_NS NS_PER_S

int cm_open(struct cm *cm, bool ud, struct error *err)
{
	int flags;

	cm->ud = ud;
	cm->channel = rdma_create_event_channel();
	if (!cm->channel)
		return error_set(err, EXIT_MISUSE, errno,
				 "rdma_cm is not to be had here (modprobe rdma_ucm gives "
				 "/dev/infiniband/rdma_cm; softverbs has none); leave out --rdma-cm "
				 "and --path-record");
	flags = fcntl(cm->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(cm->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return error_set(err, EXIT_FAILED, errno, "event channel of rdma_cm");
	fcntl(cm->channel->fd, F_SETFD, FD_CLOEXEC);
	return 0;
}

void cm_close(struct cm *cm)
{
	for (unsigned int i = 0; i < cm->id_count; i++)
		if (cm->ids[i])
			rdma_destroy_id(cm->ids[i]);
	free(cm->ids);
	if (cm->listener)
		rdma_destroy_id(cm->listener);
	if (cm->channel)
		rdma_destroy_event_channel(cm->channel);
	memset(cm, 0, sizeof(*cm));
}

struct rdma_cm_id *cm_new_id(struct cm *cm, unsigned int index, struct error *err)
{
	struct rdma_cm_id *id;

	if (!rdma_create_id(cm->channel, &id, (void *)(uintptr_t)index,
			    cm->ud ? RDMA_PS_UDP : RDMA_PS_TCP))
		return id;
	error_set(err, EXIT_FAILED, errno, "rdma_create_id for QP number %u", index);
	return NULL;
}

static void copy_event(const struct cm *cm, const struct rdma_cm_event *from, struct cm_event *e)
{
	const void *data = cm->ud ? from->param.ud.private_data : from->param.conn.private_data;
	size_t len = cm->ud ? from->param.ud.private_data_len : from->param.conn.private_data_len;

	*e = (struct cm_event){
		.type = from->event,
		.status = from->status,
		.id = from->id,
		.of_listener = from->event == RDMA_CM_EVENT_CONNECT_REQUEST,
		.data_len = data && len > CM_DATA ? CM_DATA : data ? len : 0,
	};
	if (e->data_len)
		memcpy(e->data, data, e->data_len);
	if (!cm->ud)
		return;
	e->ah = from->param.ud.ah_attr;
	e->qpn = from->param.ud.qp_num;
	e->qkey = from->param.ud.qkey;
}

int cm_take_message(struct cm *cm, const struct cm_watch *w, struct error *err)
{
	json_t *m;
	int got = control_try_recv(w->control, &m, err);
	const char *type;
	char clean[32];

	if (got <= 0)
		return got;
	type = json_string_value(json_object_get(m, "type"));
	if (!strcmp(type, "connected") && !cm->peer_is_done) {
		cm->peer_is_done = true;
	} else {
		error_sanitise(clean, sizeof(clean), type, strlen(type));
		error_set(err, EXIT_PEER, EPROTO, "peer %s sent %s while the queue pairs connect",
			  w->control->peer, clean);
	}
	json_decref(m);
	return error_is_set(err) ? -1 : 0;
}

/* Sleeps until the channel or the peer has something; 0, or -1 where the wait has to end. */
static int wait_ready(struct cm *cm, const struct cm_watch *w, struct error *err)
{
	struct pollfd p[2] = { { .fd = cm->channel->fd, .events = POLLIN },
			       { .fd = w->control ? w->control->fd : -1, .events = POLLIN } };
	int n = poll(p, 2, deadline_poll_ms(w->deadline, SLICE_MS));

	if (n < 0 && errno != EINTR)
		return error_set(err, EXIT_FAILED, errno, "poll on the event channel of rdma_cm");
	if (stop_signal && w->control)
		return error_set(err, EXIT_PEER, 0, "ended by signal %d at stage %s",
				 (int)stop_signal, err->stage);
	if (n > 0 && p[1].revents && cm_take_message(cm, w, err))
		return -1;
	if (n == 0 && deadline_passed(w->deadline))
		return error_set(err, EXIT_TIMED_OUT, 0,
				 "timed out at stage %s: rdma_cm has %u of %u connections", err->stage,
				 cm->up, cm->id_count);
	return 0;
}

int cm_next_event(struct cm *cm, const struct cm_watch *w, struct cm_event *e, struct error *err)
{
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(cm->channel, &event)) {
		if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
			return error_set(err, EXIT_FAILED, errno, "rdma_get_cm_event");
		if (wait_ready(cm, w, err))
			return -1;
	}
	copy_event(cm, event, e);
	/* At once: an id with an event that was not acked cannot be destroyed. */
	rdma_ack_cm_event(event);
	return 0;
}

/* IBTA vol. 1, 12.6.7.2: the reasons that users meet. */
static const char *reject_reason(int status)
{
	switch (status) {
	case 8:
		return "nobody listens there";
	case 10:
		return "stale connection: an old one with this QPN is not forgotten yet; try again";
	case 28:
		return "the peer refused it";
	default:
		return "see the reject reason in the InfiniBand specification, 12.6.7.2";
	}
}

void cm_prefer_news_of_peer(struct cm *cm, const struct cm_watch *w, struct error *err)
{
	struct pollfd p = { .fd = w->control->fd, .events = POLLIN };
	uint64_t deadline = deadline_in(NEWS_NS);
	struct error ours = *err;

	if (ours.code != EXIT_FAILED || ours.from_peer)
		return;
	err->code = EXIT_OK;
	while (!error_is_set(err) && !deadline_passed(deadline) &&
	       poll(&p, 1, deadline_poll_ms(deadline, SLICE_MS)) >= 0)
		if (p.revents)
			cm_take_message(cm, w, err);
	if (!error_is_set(err))
		*err = ours;
}

int cm_event_failed(const struct cm *cm, const struct cm_event *e, const char *what,
		    struct error *err)
{
	const char *name = rdma_event_str(e->type);

	if (e->type == RDMA_CM_EVENT_REJECTED || (cm->ud && e->status > 0))
		return error_set(err, EXIT_FAILED, 0, "%s: %s, reason %d (%s)", what, name, e->status,
				 cm->ud ? "the peer takes no request for a queue pair" :
					  reject_reason(e->status));
	return error_set(err, EXIT_FAILED, e->status < 0 ? -e->status : 0, "%s: %s", what, name);
}

int cm_listen(struct cm *cm, const struct cm_addresses *a, unsigned int qps, struct error *err)
{
	struct sockaddr_storage local = a->local;

	cm_set_port(&local, 0);
	cm->listener = cm_new_id(cm, 0, err);
	if (!cm->listener)
		return -1;
	if (rdma_bind_addr(cm->listener, (struct sockaddr *)&local))
		return error_set(err, errno == ENODEV || errno == EADDRNOTAVAIL ? EXIT_MISUSE :
										  EXIT_FAILED,
				 errno, "rdma_cm on the server's address %s (is it of an RDMA device?)",
				 a->local_text);
	/* A request for each QP may wait; the kernel refuses what is above its backlog. */
	if (rdma_listen(cm->listener, (int)qps))
		return error_set(err, EXIT_FAILED, errno, "rdma_listen on %s for %u queue pairs",
				 a->local_text, qps);
	cm->offer.port = ntohs(rdma_get_src_port(cm->listener));
	if (getrandom(cm->offer.token, CM_TOKEN, 0) != CM_TOKEN)
		return error_set(err, EXIT_FAILED, errno, "getrandom");
	return 0;
}

const char *cm_listens_on(const struct cm *cm, uint8_t *port)
{
	*port = cm->listener->port_num;
	return cm->listener->verbs ? ibv_get_device_name(cm->listener->verbs->device) : "no device";
}

/* Errors after a good run are none: the peer may have gone first. */
void cm_disconnect(struct cm *cm, bool server)
{
	struct cm_watch w = { NULL, deadline_in(DISCONNECT_NS) };
	struct cm_event e;
	struct error ignored;

	if (!cm->up || cm->ud)
		return;
	error_init(&ignored, "");
	for (unsigned int i = 0; i < cm->id_count && !server; i++)
		rdma_disconnect(cm->ids[i]);
	while (cm->down < cm->up && !cm_next_event(cm, &w, &e, &ignored)) {
		if (e.of_listener)
			rdma_destroy_id(e.id);
		if (e.type != RDMA_CM_EVENT_DISCONNECTED)
			continue;
		cm->down++;
		if (server)
			rdma_disconnect(e.id); /* the answer to the client's */
	}
	error_free(&ignored);
}
