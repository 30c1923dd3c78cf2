/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What QPs need before they are made: limits, completion queues, the shared receive queue. */
#include "endpoint_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Completions that a QP can have at once: of its sends; of its receives. */
static uint64_t recv_entries(const struct endpoint_wish *w, unsigned int qps)
{
	return w->srq ? w->rx_depth : (uint64_t)qps * w->rx_depth;
}

/* The most QPs that can share a CQ of max_cqe entries. */
static unsigned int qps_of_a_cq(const struct endpoint_wish *w)
{
	uint64_t most = w->limits && w->limits->max_cqe > 0 ? (uint64_t)w->limits->max_cqe :
							      (uint64_t)INT32_MAX;
	uint64_t each = w->tx_depth;

	if (!w->srq && w->rx_depth > each)
		each = w->rx_depth;
	return each * w->qps <= most ? w->qps : (unsigned int)(most / each);
}

static int exceeds(const struct endpoint *e, struct error *err, const char *option, uint64_t need,
		   int limit, const char *limit_name)
{
	if (limit <= 0 || need <= (uint64_t)limit)
		return 0;
	return error_set(err, EXIT_MISUSE, 0, "%s %llu: %s allows at most %d (%s)", option,
			 (unsigned long long)need, ibv_get_device_name(e->ctx->device), limit,
			 limit_name);
}

/* Beyond a limit the library only says EINVAL. */
int endpoint_check_limits(const struct endpoint *e, const struct endpoint_wish *wish,
			  struct error *err)
{
	const struct ibv_device_attr *a = wish->limits;
	uint64_t region = (uint64_t)(e->send_area + e->recv_area) * (wish->mr_per_qp ? 1 : wish->qps);

	if (!a)
		return 0;
	if (exceeds(e, err, "--tx-depth", wish->tx_depth, a->max_qp_wr, "max_qp_wr") ||
	    exceeds(e, err, "--qps", wish->qps, a->max_qp, "max_qp") ||
	    exceeds(e, err, "--rx-depth", wish->rx_depth,
		    wish->srq ? a->max_srq_wr : a->max_qp_wr, wish->srq ? "max_srq_wr" : "max_qp_wr"))
		return -1;
	if (a->max_mr_size && region > a->max_mr_size)
		return error_set(err, EXIT_MISUSE, 0,
				 "a memory region of %llu bytes is needed, %s allows at most %llu "
				 "(max_mr_size): a smaller --size%s", (unsigned long long)region,
				 ibv_get_device_name(e->ctx->device),
				 (unsigned long long)a->max_mr_size,
				 wish->qps > 1 && !wish->mr_per_qp ? ", fewer --qps or --mr-per-qp" : "");
	if (!qps_of_a_cq(wish) || (wish->srq && exceeds(e, err, "--rx-depth", wish->rx_depth,
							a->max_cqe, "max_cqe")))
		return error_set(err, EXIT_MISUSE, 0,
				 "a completion queue of %u entries is needed, %s allows %d: a smaller "
				 "--tx-depth or --rx-depth", wish->tx_depth > wish->rx_depth ?
				 wish->tx_depth : wish->rx_depth,
				 ibv_get_device_name(e->ctx->device), a->max_cqe);
	return 0;
}

/* QPs that carry what is measured. */
static unsigned int measured_qps(const struct endpoint_wish *w)
{
	return w->load ? w->qps - 1 : w->qps;
}

static int open_channel(struct endpoint *e, struct error *err)
{
	int flags;

	e->channel = ibv_create_comp_channel(e->ctx);
	if (!e->channel)
		return error_set(err, EXIT_FAILED, errno, "ibv_create_comp_channel");
	flags = fcntl(e->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(e->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return error_set(err, EXIT_FAILED, errno, "completion channel");
	return 0;
}

static struct ibv_cq *open_cq(struct endpoint *e, uint64_t entries, struct error *err)
{
	struct ibv_cq *cq = ibv_create_cq(e->ctx, (int)entries, NULL, e->channel, 0);

	if (!cq)
		error_set(err, EXIT_FAILED, errno, "ibv_create_cq of %llu entries",
			  (unsigned long long)entries);
	return cq;
}

/* The CQ that answers are seen on. */
static struct ibv_cq *open_stamped_cq(struct endpoint *e, struct endpoint_cqs *c, uint64_t entries,
				      struct error *err)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)entries,
		.channel = e->channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};

	c->stamped = ibv_create_cq_ex(e->ctx, &attr);
	if (c->stamped)
		return ibv_cq_ex_to_cq(c->stamped);
	error_set(err, EXIT_MISUSE, errno, "%s stamps no completions; leave out --hw-timestamps",
		  ibv_get_device_name(e->ctx->device));
	return NULL;
}

/* One CQ where nothing is received: then own completions are the answers. */
static int open_pair(struct endpoint *e, const struct endpoint_wish *wish, struct endpoint_cqs *c,
		     unsigned int qps, struct error *err)
{
	uint64_t sends = (uint64_t)qps * wish->tx_depth, receives = recv_entries(wish, qps);
	bool stamped = wish->stamped;

	if (!receives) {
		c->send = c->recv = stamped ? open_stamped_cq(e, c, sends, err) :
					      open_cq(e, sends, err);
		return c->send ? 0 : -1;
	}
	c->send = open_cq(e, sends, err);
	if (!c->send)
		return -1;
	c->recv = stamped ? open_stamped_cq(e, c, receives, err) : open_cq(e, receives, err);
	return c->recv ? 0 : -1;
}

static int open_srq(struct endpoint *e, const struct endpoint_wish *wish, struct error *err)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = wish->rx_depth, .max_sge = 1 } };

	e->srq = ibv_create_srq(e->pd, &attr);
	if (!e->srq)
		return error_set(err, EXIT_FAILED, errno, "ibv_create_srq of %u receives",
				 wish->rx_depth);
	return 0;
}

/* The load's completions must not be taken for those that a lap waits for. */
static int open_load_cq(struct endpoint *e, const struct endpoint_wish *wish, struct error *err)
{
	struct endpoint_cqs *c = &e->cqs[e->cqs_count++];

	c->send = c->recv = open_cq(e, wish->tx_depth, err);
	return c->send ? 0 : -1;
}

int endpoint_open_cqs(struct endpoint *e, const struct endpoint_wish *wish, struct error *err)
{
	unsigned int count, all = measured_qps(wish);

	e->load = wish->load;
	e->qps_per_cqs = qps_of_a_cq(wish);
	if (e->qps_per_cqs > all)
		e->qps_per_cqs = all;
	count = (all + e->qps_per_cqs - 1) / e->qps_per_cqs;
	e->cqs = calloc(count + 1, sizeof(*e->cqs));
	if (!e->cqs)
		return error_set(err, EXIT_FAILED, ENOMEM, "%u completion queues", count);
	if (wish->events && open_channel(e, err))
		return -1;
	for (unsigned int i = 0; i < count; i++) {
		struct endpoint_cqs *c = &e->cqs[i];
		unsigned int qps = e->qps_per_cqs;

		if ((i + 1) * e->qps_per_cqs > all)
			qps = all - i * e->qps_per_cqs;
		e->cqs_count++;
		if (open_pair(e, wish, c, qps, err))
			return -1;
	}
	if (count > 1)
		error_note(err, "the completion queues are %u, since one would be too large for %s",
			   count, ibv_get_device_name(e->ctx->device));
	if (wish->load && open_load_cq(e, wish, err))
		return -1;
	return wish->srq ? open_srq(e, wish, err) : 0;
}
