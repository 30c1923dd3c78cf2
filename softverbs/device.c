/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "fault.h"
#include "pd.h"

struct sv_dev *sv_devs;
int sv_ndevs;
static struct spec spec;
static int live_contexts;

/* SOFTVERBS_CHECK: a program is told what it has not closed. */
static void tell_left(const char *what, int n)
{
	if (n && getenv("SOFTVERBS_CHECK"))
		fprintf(stderr, "softverbs: %d %s left\n", n, what);
}

__attribute__((destructor)) static void tell_left_at_exit(void)
{
	tell_left("open contexts", __atomic_load_n(&live_contexts, __ATOMIC_RELAXED));
}

static void dist_load(struct dist *to, const struct dist *from, const char *dev)
{
	const char *path;
	size_t line;
	int ret;

	*to = *from;
	ret = dist_open(to, &path, &line);
	if (!ret)
		return;
	fprintf(stderr, "softverbs: %s: %s:%zu: %s\n", dev, path, line, strerror(-ret));
	exit(2);
}

static void dev_init(struct sv_dev *d, const struct spec_device *s)
{
	const struct spec_faults *f = &s->fault;

	d->spec = s;
	d->ibv.node_type = s->port[0].link == SPEC_LINK_IWARP ? IBV_NODE_RNIC : IBV_NODE_CA;
	d->ibv.transport_type = s->port[0].link == SPEC_LINK_IWARP ? IBV_TRANSPORT_IWARP :
								     IBV_TRANSPORT_IB;
	snprintf(d->ibv.name, sizeof(d->ibv.name), "%s", s->name);
	/* Names that exist nowhere: nobody may take it for a device of the kernel. */
	snprintf(d->ibv.dev_name, sizeof(d->ibv.dev_name), "softverbs-%d", (int)(d - sv_devs));
	snprintf(d->ibv.dev_path, sizeof(d->ibv.dev_path), "/nonexistent/softverbs/%s", s->name);
	snprintf(d->ibv.ibdev_path, sizeof(d->ibv.ibdev_path), "/nonexistent/softverbs/%s",
		 s->name);
	dist_load(&d->delay, &s->delay, s->name);
	dist_load(&d->out, &s->out, s->name);
	dist_load(&d->back, &s->back, s->name);
	dist_seed(&d->rng, s->seed);
	if (s->trace[0]) {
		d->trace = trace_open(s->trace);
		if (!d->trace) {
			fprintf(stderr, "softverbs: %s: %s\n", s->trace, strerror(errno));
			exit(2);
		}
	}
	d->faults = f->drop.n || f->dup.n || f->corrupt.n || f->rnr.n || f->nflip || f->nerr ||
		    f->nevent || f->nstall || f->die || f->hang;
	d->plain = !d->faults && !d->trace && !d->delay.n && !d->out.n && !d->back.n && !s->bw &&
		   !s->async && !s->complete_post;
}

static void init_once(void)
{
	const char *text = getenv("SOFTVERBS");
	struct spec_error err;
	struct sv_dev *devs;

	if (!text)
		return;
	if (spec_parse(text, &spec, &err)) {
		fprintf(stderr, "softverbs: SOFTVERBS: %s\n", err.text);
		exit(2);
	}
	devs = calloc((size_t)spec.ndev, sizeof(*devs));
	if (!devs) {
		fprintf(stderr, "softverbs: out of memory\n");
		exit(2);
	}
	sv_devs = devs;
	for (int i = 0; i < spec.ndev; i++)
		dev_init(&devs[i], &spec.dev[i]);
	sv_ndevs = spec.ndev;
}

void sv_device_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init_once);
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	(void)type;
	errno = sv_fail_ctx(pd->context, SPEC_CALL_alloc_mw);
	if (!errno)
		errno = EOPNOTSUPP;	/* the device has no memory windows (max_mw is 0) */
	return NULL;
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp, (void)mw, (void)bind;
	return EOPNOTSUPP;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return EOPNOTSUPP;
}

static void ops(struct sv_ctx *c)
{
	struct ibv_context_ops *o = &c->v.context.ops;

	o->poll_cq = sv_poll_cq;
	o->req_notify_cq = sv_req_notify_cq;
	o->post_send = sv_post_send;
	o->post_recv = sv_post_recv;
	o->post_srq_recv = sv_post_srq_recv;
	o->alloc_mw = alloc_mw;
	o->bind_mw = bind_mw;
	o->dealloc_mw = dealloc_mw;
	c->v.query_port = sv_query_port;
	c->v.query_device_ex = sv_query_device_ex;
	c->v.query_rt_values = sv_query_rt_values;
	c->v.create_qp_ex = sv_create_qp_ex;
	c->v.create_cq_ex = sv_create_cq_ex;
	c->v.get_srq_num = sv_get_srq_num;
	c->v.alloc_td = sv_alloc_td;
	c->v.dealloc_td = sv_dealloc_td;
	c->v.alloc_parent_domain = sv_alloc_parent_domain;
	c->v.sz = sizeof(c->v);
	c->v.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

static int ctx_share(struct sv_ctx *c)
{
	static uint32_t generation;

	c->off = sv_object_alloc(SV_KIND_CTX, sizeof(*c->sh));
	if (!c->off)
		return ENOMEM;
	c->sh = sv_at(sv_self, c->off);
	memcpy(c->sh->port, c->dev->spec->port, sizeof(c->sh->port));
	c->sh->gen = __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
	c->sh->async_fd = c->async_w;
	return 0;
}

struct ibv_context *sv_open_device(struct ibv_device *ibd)
{
	struct sv_dev *d = (struct sv_dev *)(void *)ibd;
	struct sv_ctx *c;
	int fds[2], ret;

	errno = sv_fail(d, SPEC_CALL_open_device);
	if (errno)
		return NULL;
	errno = sv_fabric_attach();
	if (errno)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c || pipe2(fds, O_CLOEXEC)) {
		free(c);
		return NULL;
	}
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	c->dev = d;
	c->async_w = fds[1];
	c->v.context.device = ibd;
	c->v.context.async_fd = fds[0];
	c->v.context.cmd_fd = -1;
	c->v.context.num_comp_vectors = 1;
	pthread_mutex_init(&c->v.context.mutex, NULL);
	__atomic_add_fetch(&live_contexts, 1, __ATOMIC_RELAXED);
	ops(c);
	ret = ctx_share(c);
	if (ret) {
		sv_close_device(&c->v.context);
		errno = ret;
		return NULL;
	}
	sv_fault_opened(c);
	return &c->v.context;
}

/* Objects that a program left behind stay usable for peers until the process ends. */
int sv_close_device(struct ibv_context *ibc)
{
	struct sv_ctx *c = sv_ctx(ibc);
	int ret = sv_fail(c->dev, SPEC_CALL_close_device);

	if (ret)
		return ret;
	__atomic_sub_fetch(&live_contexts, 1, __ATOMIC_RELAXED);
	tell_left("PDs, CQs, QPs, SRQs and channels", c->refs);
	close(ibc->async_fd);
	close(c->async_w);
	if (c->refs)
		return 0;
	if (c->off)
		sv_object_free(SV_KIND_CTX, c->off);
	pthread_mutex_destroy(&ibc->mutex);
	free(c);
	return 0;
}
