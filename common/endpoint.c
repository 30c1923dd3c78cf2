/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "endpoint_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "deadline.h"
#include "op.h"

/* Each QP's send area, and its receive area behind it. */
char *endpoint_send_area(const struct endpoint *e, unsigned int i)
{
	return (char *)e->buffer.addr + i * (e->send_area + e->recv_area);
}

char *endpoint_recv_area(const struct endpoint *e, unsigned int i)
{
	return endpoint_send_area(e, i) + e->send_area;
}

struct ibv_mr *endpoint_mr(const struct endpoint *e, unsigned int i)
{
	return e->mrs[e->mr_count > 1 ? i : 0];
}

struct endpoint_cqs *endpoint_cqs_of(const struct endpoint *e, unsigned int i)
{
	unsigned int group = i / e->qps_per_cqs;

	return &e->cqs[group < e->cqs_count ? group : e->cqs_count - 1];
}

/* ENOMEM and EPERM of a registration are nearly always the limit of locked memory. */
static int registration_failed(size_t bytes, int errnum, struct error *err)
{
	struct rlimit lim;
	char limit[32] = "unlimited";

	if (!getrlimit(RLIMIT_MEMLOCK, &lim) && lim.rlim_cur != RLIM_INFINITY)
		snprintf(limit, sizeof(limit), "%llu kB", (unsigned long long)lim.rlim_cur >> 10);
	if (errnum == ENOMEM || errnum == EPERM)
		return error_set(err, EXIT_FAILED, errnum,
				 "registering %zu kB; the limit of locked memory is %s (ulimit -l "
				 "unlimited, memlock in limits.conf, or --ulimit memlock=-1 for a "
				 "container raises it)", bytes >> 10, limit);
	return error_set(err, EXIT_FAILED, errnum, "registering %zu kB", bytes >> 10);
}

static int register_memory(struct endpoint *e, const struct endpoint_wish *wish, struct error *err)
{
	unsigned int count = wish->mr_per_qp ? wish->qps : 1;
	size_t bytes = e->buffer.bytes;

	e->mrs = calloc(count, sizeof(*e->mrs));
	if (!e->mrs)
		return error_set(err, EXIT_FAILED, ENOMEM, "%u memory regions", count);
	if (count > 1)
		bytes = e->send_area + e->recv_area;
	for (; e->mr_count < count; e->mr_count++) {
		e->mrs[e->mr_count] = ibv_reg_mr(e->pd, endpoint_send_area(e, e->mr_count), bytes,
						 (unsigned int)e->access);
		if (!e->mrs[e->mr_count])
			return registration_failed(bytes, errno, err);
	}
	return 0;
}

int endpoint_open_memory(struct endpoint *e, struct ibv_context *ctx,
			 const struct endpoint_wish *wish, struct error *err)
{
	memset(e, 0, sizeof(*e));
	e->ctx = ctx;
	e->in_order = -1;
	e->send_area = page_align(wish->send_area);
	e->recv_area = page_align(wish->recv_area);
	e->access = wish->access;
	if (endpoint_check_limits(e, wish, err))
		return -1;
	e->pd = ibv_alloc_pd(ctx);
	if (!e->pd)
		return error_set(err, EXIT_FAILED, errno, "ibv_alloc_pd on %s",
				 ibv_get_device_name(ctx->device));
	if (buffer_open(&e->buffer, wish->allocator, wish->qps * (e->send_area + e->recv_area), err))
		return -1;
	return register_memory(e, wish, err);
}

/* QP number qp_count of this end. */
static struct ibv_qp *create_qp(struct endpoint *e, const struct endpoint_wish *wish,
				uint32_t inline_size, enum post_kind post, uint32_t *granted)
{
	const struct endpoint_cqs *cqs = endpoint_cqs_of(e, e->qp_count);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cqs->send,
		.recv_cq = cqs->recv,
		.srq = e->srq,
		.cap = {
			.max_send_wr = wish->tx_depth,
			/* Some devices refuse 0 although nothing is received. */
			.max_recv_wr = wish->rx_depth ? wish->rx_depth : 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = inline_size,
		},
		.qp_type = wish->type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = e->pd,
	};
	struct ibv_qp *qp;

	if (post == POST_WR) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = wish->wr_ops;
	}
	qp = ibv_create_qp_ex(e->ctx, &attr);
	if (qp)
		*granted = attr.cap.max_inline_data;
	return qp;
}

/* The largest inline size between one that works and one that does not. */
static struct ibv_qp *bisect_inline(struct endpoint *e, const struct endpoint_wish *wish,
				    enum post_kind post, struct ibv_qp *qp, uint32_t *granted)
{
	uint32_t works = *granted, fails = (uint32_t)wish->inline_size;

	while (works + 1 < fails) {
		uint32_t mid = works + (fails - works) / 2, got;
		struct ibv_qp *better = create_qp(e, wish, mid, post, &got);

		if (!better) {
			fails = mid;
			continue;
		}
		ibv_destroy_qp(qp);
		qp = better;
		*granted = got;
		works = got > mid ? got : mid;
	}
	return qp;
}

/* Tries the smallest QP of each type: false when @wish's is not among those that work. */
static bool type_works(struct endpoint *e, const struct endpoint_wish *wish, const char **name,
		       char *others, size_t cap)
{
	struct endpoint_wish least = *wish;
	bool works = false;
	size_t len = 0;

	least.tx_depth = least.rx_depth = 1;
	*others = '\0';
	for (enum transport t = 0; t < TRANSPORTS; t++) {
		struct ibv_qp *qp;
		uint32_t granted;

		least.type = transport_qp_type(t);
		if (least.type == wish->type)
			*name = transport_name(t);
		qp = create_qp(e, &least, 0, POST_SEND, &granted);
		if (!qp)
			continue;
		ibv_destroy_qp(qp);
		works |= least.type == wish->type;
		len += (size_t)snprintf(others + len, cap - len, "%s%s", len ? ", " : "",
					transport_name(t));
	}
	return works || !*others;
}

static int creation_failed(struct endpoint *e, const struct endpoint_wish *wish, int errnum,
			   struct error *err)
{
	const char *type = "?";
	char others[16];

	if (!type_works(e, wish, &type, others, sizeof(others)))
		return error_set(err, EXIT_MISUSE, errnum, "%s has no %s queue pairs, only %s",
				 ibv_get_device_name(e->ctx->device), type, others);
	if (wish->post == POST_WR)
		return error_set(err, EXIT_MISUSE, errnum,
				 "%s has no %s queue pair with the ibv_wr_* calls; leave out --post wr",
				 ibv_get_device_name(e->ctx->device), type);
	return error_set(err, EXIT_FAILED, errnum, "ibv_create_qp (%s, depth %u, inline %llu) on %s",
			 type, wish->tx_depth, (unsigned long long)wish->inline_size,
			 ibv_get_device_name(e->ctx->device));
}

/*
 * The first QP finds out what the device grants. ibv_wr_* before ibv_post_send unless the user
 * chose; when inline is refused, 0 is tried to prove that inline is the cause, then bisected.
 */
static struct ibv_qp *first_qp(struct endpoint *e, const struct endpoint_wish *wish,
			       struct error *err)
{
	bool choose = wish->post == OPTION_AUTO;
	enum post_kind kinds[2] = { choose ? POST_WR : (enum post_kind)wish->post, POST_SEND };
	uint32_t sizes[2] = { (uint32_t)wish->inline_size, 0 };
	int first_errno = 0;

	for (int s = 0; s < (sizes[0] ? 2 : 1); s++)
		for (int k = 0; k < (choose ? 2 : 1); k++) {
			struct ibv_qp *qp = create_qp(e, wish, sizes[s], kinds[k], &e->inline_granted);

			if (!first_errno)
				first_errno = errno;
			if (!qp)
				continue;
			e->post = kinds[k];
			return s ? bisect_inline(e, wish, kinds[k], qp, &e->inline_granted) : qp;
		}
	creation_failed(e, wish, first_errno, err);
	return NULL;
}

/* PSNs from the kernel's generator, so that a late packet of an earlier run meets no window. */
static void choose_psns(struct endpoint *e)
{
	if (getrandom(e->psns, e->qp_count * sizeof(*e->psns), GRND_NONBLOCK) < 0)
		for (unsigned int i = 0; i < e->qp_count; i++)
			e->psns[i] = (uint32_t)lrand48();
	for (unsigned int i = 0; i < e->qp_count; i++)
		e->psns[i] &= 0xffffff;
}

void endpoint_progress(struct endpoint *e, const char *deed, unsigned int qps,
		       const struct error *err)
{
	if (e->told == deed || now_ns() - e->begun < NS_PER_S)
		return;
	e->told = deed;
	if (isatty(STDERR_FILENO))
		error_note(err, "%s %u queue pairs ...", deed, qps);
}

/* All QPs after the first, which has shown what is granted. */
static int create_more(struct endpoint *e, const struct endpoint_wish *wish, struct error *err)
{
	uint32_t granted;

	for (e->qp_count = 1; e->qp_count < wish->qps; e->qp_count++) {
		struct ibv_qp *qp = create_qp(e, wish, e->inline_granted, e->post, &granted);

		if (!qp)
			return creation_failed(e, wish, errno, err);
		e->qps[e->qp_count] = qp;
		endpoint_progress(e, "creating", wish->qps, err);
	}
	return 0;
}

int endpoint_open_qps(struct endpoint *e, const struct endpoint_wish *wish, struct error *err)
{
	e->inline_asked = (uint32_t)wish->inline_size;
	e->begun = now_ns();
	if (endpoint_open_cqs(e, wish, err))
		return -1;
	e->qps = calloc(wish->qps, sizeof(*e->qps));
	e->psns = calloc(wish->qps, sizeof(*e->psns));
	if (!e->qps || !e->psns)
		return error_set(err, EXIT_FAILED, ENOMEM, "%u queue pairs", wish->qps);
	e->qps[0] = first_qp(e, wish, err);
	if (!e->qps[0] || create_more(e, wish, err))
		return -1;
	choose_psns(e);
	if (wish->inline_explicit && e->inline_granted < e->inline_asked)
		error_warn(err, "inline of %u bytes was asked for; the device grants %u",
			   e->inline_asked, e->inline_granted);
	return 0;
}

static void closing_failed(struct error *err, const char *call, int rc)
{
	if (rc && !error_is_set(err))
		error_set(err, EXIT_FAILED, rc, "%s", call);
}

static void close_cqs(struct endpoint *e, struct error *err)
{
	for (unsigned int i = e->cqs_count; i > 0; i--) {
		struct endpoint_cqs *c = &e->cqs[i - 1];

		if (c->recv && c->recv != c->send)
			closing_failed(err, "ibv_destroy_cq", ibv_destroy_cq(c->recv));
		if (c->send)
			closing_failed(err, "ibv_destroy_cq", ibv_destroy_cq(c->send));
	}
	free(e->cqs);
	if (e->channel)
		closing_failed(err, "ibv_destroy_comp_channel", ibv_destroy_comp_channel(e->channel));
}

static void close_memory(struct endpoint *e, struct error *err)
{
	for (unsigned int i = e->mr_count; i > 0; i--)
		closing_failed(err, "ibv_dereg_mr", ibv_dereg_mr(e->mrs[i - 1]));
	free(e->mrs);
	buffer_close(&e->buffer);
}

int endpoint_close(struct endpoint *e, struct error *err)
{
	for (unsigned int i = e->qp_count; i > 0; i--)
		closing_failed(err, "ibv_destroy_qp", ibv_destroy_qp(e->qps[i - 1]));
	for (unsigned int i = e->ah_count; i > 0; i--)
		closing_failed(err, "ibv_destroy_ah", ibv_destroy_ah(e->ahs[i - 1]));
	if (e->srq)
		closing_failed(err, "ibv_destroy_srq", ibv_destroy_srq(e->srq));
	close_cqs(e, err);
	close_memory(e, err);
	if (e->pd)
		closing_failed(err, "ibv_dealloc_pd", ibv_dealloc_pd(e->pd));
	free(e->qps);
	free(e->ahs);
	free(e->psns);
	memset(e, 0, sizeof(*e));
	return error_is_set(err) ? -1 : 0;
}
