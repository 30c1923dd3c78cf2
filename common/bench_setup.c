/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an end does on its own: devices, CPU, memory, clock, queue pairs. */
#include "bench_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoint_connect.h"
#include "load.h"
#include "plan.h"
#include "stream.h"

#define QKEY RDMA_UDP_QKEY /* of our UD queue pairs: the one that rdma_cm gives */

const struct candidate_choice *bench_choice(const struct bench *b)
{
	return b->server ? &b->pair.server : &b->pair.client;
}

const struct candidate_choice *bench_remote_choice(const struct bench *b)
{
	return b->server ? &b->pair.client : &b->pair.server;
}

struct ibv_context *bench_context(const struct bench *b)
{
	return b->devices.contexts[bench_choice(b)->candidate];
}

const struct candidate *bench_port(const struct bench *b)
{
	return &b->devices.list.v[bench_choice(b)->candidate];
}

const struct candidate *bench_remote_port(const struct bench *b)
{
	return &b->remote_ports.v[bench_remote_choice(b)->candidate];
}

static double usec_since(uint64_t start)
{
	return (double)(now_ns() - start) / 1e3;
}

int bench_open_devices(struct bench *b)
{
	struct device_wish wish = { b->set.ib_dev, b->set.ib_port, b->set.gid_index, "" };
	uint64_t start = now_ns();

	b->err->stage = "device";
	if (device_open_all(&b->devices, &wish, b->err))
		return -1;
	b->setup.device_usec = usec_since(start);
	return 0;
}

/* The async fd must never block a wait that only looks. */
static int make_async_nonblocking(struct ibv_context *ctx, struct error *err)
{
	int flags = fcntl(ctx->async_fd, F_GETFL);

	if (flags < 0 || fcntl(ctx->async_fd, F_SETFL, flags | O_NONBLOCK))
		return error_set(err, EXIT_FAILED, errno, "async events of %s",
				 ibv_get_device_name(ctx->device));
	return 0;
}

int bench_use_pair(struct bench *b)
{
	int keep = bench_choice(b)->candidate;
	struct ibv_context *ctx = bench_context(b);
	const struct candidate *port = bench_port(b);

	if (port->link == LINK_IB && b->set.path_bits >> port->lmc)
		return error_set(b->err, EXIT_MISUSE, 0,
				 "--path-bits %llu: %s port %u has LMC %u, so at most %u",
				 (unsigned long long)b->set.path_bits, port->device, port->port,
				 port->lmc, (1u << port->lmc) - 1);

	b->op = op_choose(b->program->family, &b->set);
	b->transport = (enum transport)b->set.transport;
	if (!b->program->bandwidth)
		b->op = op_of_laps(b->op, b->transport);
	device_close_others(&b->devices, keep, b->err);
	if (error_is_set(b->err))
		return -1;
	if (b->pair.routed)
		error_warn(b->err, "the two GIDs are on different subnets: RoCE v2 is routed between "
			   "them");
	if (device_read_facts(ctx, "", &b->facts, b->err) || bench_check_device(b, b->err))
		return -1;
	return make_async_nonblocking(ctx, b->err);
}

int bench_choose_cpu(struct bench *b)
{
	bool same_host = b->boot_id[0] && !strcmp(b->boot_id, b->peer_boot_id);
	struct cpu_facts facts;

	cpu_read_facts("", bench_port(b)->device, &b->cpu_wish, same_host ? b->peer_cpu : -1, &facts);
	if (cpu_choose(&b->cpu_wish, &facts, &b->cpu))
		return error_set(b->err, EXIT_MISUSE, 0,
				 "-T %s: none of these CPUs is there for the %s (see taskset -p)",
				 b->set.cpu, b->server ? "server" : "client");
	if (b->cpu.shared)
		b->yield = true;
	return 0;
}

/* What the memory may be used for, by this end and by the other. */
static int access_of(const struct bench *b)
{
	const struct op *op = op_get(b->op);
	int access = IBV_ACCESS_LOCAL_WRITE | op->access |
		     (bench_loads(b) ? IBV_ACCESS_REMOTE_WRITE : 0);
	uint64_t relaxed = b->set.relaxed_ordering;

	/* iWARP carries the answer of a READ as a write. */
	if (op->fetches && bench_context(b)->device->transport_type == IBV_TRANSPORT_IWARP)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (relaxed == OPTION_AUTO ? b->program->bandwidth : relaxed == 1)
		access |= IBV_ACCESS_RELAXED_ORDERING;
	return access;
}

static void fill_wish(struct bench *b)
{
	const struct settings *s = &b->set;
	const struct op *op = op_get(b->op);
	uint64_t largest = 0, largest_inline = 0;

	for (unsigned int i = 0; i < s->sizes.count; i++) {
		uint64_t v = s->sizes.v[i];

		largest = v > largest ? v : largest;
		largest_inline = v <= 256 && v > largest_inline ? v : largest_inline;
	}
	if (op->fetches)
		largest_inline = 0;
	if (bench_loads(b) && largest < LOAD_BYTES)
		largest = LOAD_BYTES;
	b->wish = (struct endpoint_wish){
		.type = transport_qp_type(b->transport),
		.qps = bench_qps(b),
		.load = bench_loads(b),
		.tx_depth = (unsigned int)s->tx_depth,
		.rx_depth = op_receives_posted(op, s),
		.srq = s->srq,
		.events = s->events,
		.stamped = s->hw_timestamps,
		.mr_per_qp = s->mr_per_qp,
		.inline_size = s->inline_size == OPTION_AUTO ? largest_inline : s->inline_size,
		.inline_explicit = s->inline_size != OPTION_AUTO,
		.post = s->post,
		.wr_ops = op->wr_ops | (bench_loads(b) ? IBV_QP_EX_WITH_RDMA_WRITE : 0),
		.send_area = largest,
		.recv_area = largest + UD_GRH_BYTES,
		.access = access_of(b),
		.allocator = s->hugepages ? &memory_hugepages : &memory_pages,
		.limits = &b->facts.attr,
	};
	if (b->program->bandwidth)
		stream_wish(&b->wish, s, op);
}

static int calibrate(struct bench *b)
{
	int rc = clock_calibrate(b->clock, NULL, &b->cert);

	if (rc == -ENOTSUP)
		return error_set(b->err, EXIT_MISUSE, 0,
				 "this CPU has no counter to read; use --clock gettime");
	return rc ? error_set(b->err, EXIT_FAILED, -rc, "calibrating the clock") : 0;
}

/* Bound first, so that memory and calibration belong to the CPU that measures. */
int bench_allocate(struct bench *b)
{
	uint64_t start;

	b->err->stage = "endpoints";
	if (b->yield)
		error_warn(b->err, "both ends have one CPU: they yield it while waiting, and the "
			   "figures contain the switches");
	if (cpu_bind(&b->cpu, b->err))
		return -1;
	start = now_ns();
	fill_wish(b);
	if (endpoint_open_memory(&b->endpoint, bench_context(b), &b->wish, b->err))
		return -1;
	if (!b->program->bandwidth &&
	    lap_store_open(&b->store, &b->set, bench_dumps(b), bench_paced(b), b->err))
		return -1;
	b->setup.memory_usec = usec_since(start);
	return calibrate(b);
}

static const struct gid_entry *gid_of(const struct candidate *port, int index)
{
	return index >= 0 ? &port->gids[index] : NULL;
}

int bench_open_endpoint(struct bench *b)
{
	const struct candidate *port = bench_port(b);
	uint64_t start = now_ns();
	int rc;

	if (endpoint_open_qps(&b->endpoint, &b->wish, b->err))
		return -1;
	rc = endpoint_address_fill(&b->local, &b->endpoint, port, gid_of(port, bench_choice(b)->gid));
	if (rc)
		return error_set(b->err, EXIT_FAILED, -rc, "addresses of the queue pairs");
	b->setup.qps_usec = usec_since(start);
	return 0;
}

/* Path MTU: the smallest of both ports, of --mtu and of the path record. */
uint16_t bench_path_mtu(const struct bench *b)
{
	uint16_t mtu = bench_port(b)->mtu, peer = bench_remote_port(b)->mtu;

	mtu = peer < mtu ? peer : mtu;
	if (b->set.path_record && b->by_cm.record.mtu < mtu)
		mtu = b->by_cm.record.mtu;
	return b->set.mtu != OPTION_AUTO && b->set.mtu < mtu ? (uint16_t)b->set.mtu : mtu;
}

static uint8_t least(int a, int b)
{
	int v = a < b ? a : b;

	return (uint8_t)(v > 255 ? 255 : v);
}

static void fill_path(struct bench *b)
{
	const struct candidate *port = bench_port(b), *peer = bench_remote_port(b);
	const struct settings *s = &b->set;
	int gid = bench_choice(b)->gid;

	b->path = (struct endpoint_path){
		.port = port->port,
		.sl = (uint8_t)s->sl,
		.traffic_class = (uint8_t)s->traffic_class,
		.hop_limit = (uint8_t)s->hop_limit,
		.path_bits = (uint8_t)s->path_bits,
		.flow_label = (uint32_t)s->flow.label,
		.flow_label_counts = s->flow.counts,
		.pkey_index = bench_choice(b)->pkey_index,
		.gid_index = gid >= 0 ? (int)port->gids[gid].index : -1,
		.mtu = bench_path_mtu(b),
		.timeout = (uint8_t)s->qp_timeout,
		.retry_count = (uint8_t)s->retry_count,
		.rnr_retry = (uint8_t)s->rnr_retry,
		.min_rnr_timer = (uint8_t)s->min_rnr_timer,
		.max_rd_atomic = least(port->max_rd_atomic, peer->max_dest_rd_atomic),
		.max_dest_rd_atomic = least(port->max_dest_rd_atomic, peer->max_rd_atomic),
		.qkey = QKEY,
		.load = bench_loads(b),
		.load_sl = (uint8_t)(s->load.sl == OPTION_AUTO ? s->sl : s->load.sl),
		.load_traffic_class = (uint8_t)(s->load.traffic_class == OPTION_AUTO ?
						s->traffic_class : s->load.traffic_class),
	};
	if (s->outs == OPTION_AUTO || !op_get(b->op)->fetches)
		return;
	b->path.max_rd_atomic = least(b->path.max_rd_atomic, (int)s->outs);
	b->path.max_dest_rd_atomic = least(b->path.max_dest_rd_atomic, (int)s->outs);
}

int bench_connect_qps(struct bench *b)
{
	uint64_t start = now_ns();

	bench_stage(b, "connect-qp");
	fill_path(b);
	bench_cm_apply_record(b);
	if (bench_mcast(b) && bench_join(b))
		return -1;
	if (b->set.rdma_cm ? bench_cm_connect(b) :
			     endpoint_connect(&b->endpoint, &b->path, &b->remote, NULL, b->err))
		return -1;
	endpoint_connected(&b->endpoint);
	if (bench_mcast(b) && bench_attach(b))
		return -1;
	b->setup.connect_usec = usec_since(start);
	if (b->set.verbose)
		bench_cm_show_attributes(b);
	return bench_open_lanes(b);
}
