/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the chosen device and port allow of a plan; the transports only creating a QP can tell. */
#include "bench_state.h"

static int lacks(const struct bench *b, struct error *err, const char *what)
{
	return error_set(err, EXIT_MISUSE, 0, "%s on the %s %s", b->facts.name,
			 b->server ? "server" : "client", what);
}

/* What the kernel's TCP connection has in its own way, or not at all, would be asked for in vain. */
static int check_iwarp_options(const struct bench *b, struct error *err)
{
	static const char *const none[] = { "path-record", "mtu", "sl", "traffic-class", "flow-label",
					    "hop-limit", "path-bits", "qp-timeout", "retry-count",
					    "rnr-retry", "min-rnr-timer" };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (option_given(&b->set, none[i]))
			return error_set(err, EXIT_MISUSE, 0, "--%s: %s on the %s is iWARP, where TCP "
					 "decides that; leave it out", none[i], b->facts.name,
					 b->server ? "server" : "client");
	return 0;
}

/* RFC 5040, 5043, 5044. Credits of SENDs are immediate data too. */
static int check_iwarp(const struct bench *b, const struct op *op, struct error *err)
{
	if (!b->set.rdma_cm)
		return lacks(b, err, "is iWARP, which connects by rdma_cm only; add --rdma-cm");
	if (b->transport != TRANSPORT_RC)
		return lacks(b, err, "is iWARP, which has reliable connections only; leave out "
			     "--transport");
	if (op->immediate)
		return lacks(b, err, "is iWARP, which has no immediate data; leave out --imm");
	if (b->program->bandwidth && op->receives)
		return lacks(b, err, "is iWARP, which has no immediate data, and the credits of "
			     "send_bw are such; use rdma_bw or read_bw");
	if (b->set.bidirectional || b->set.reversed)
		return lacks(b, err, "is iWARP, where the end that connects has to send first; "
			     "leave out --bidirectional and --reversed");
	return check_iwarp_options(b, err);
}

static int check_operation(const struct bench *b, struct error *err)
{
	const struct ibv_device_attr *a = &b->facts.attr;
	const struct op *op = op_get(b->op);
	bool iwarp = bench_context(b)->device->transport_type == IBV_TRANSPORT_IWARP;

	if (op->access == IBV_ACCESS_REMOTE_ATOMIC && a->atomic_cap == IBV_ATOMIC_NONE)
		return lacks(b, err, "has no atomic operations (atomic_cap is none)");
	if (op->fetches && (a->max_qp_rd_atom < 1 || a->max_qp_init_rd_atom < 1))
		return lacks(b, err, "has no READs and atomics (max_qp_rd_atom is 0)");
	if (b->set.srq && a->max_srq < 1)
		return lacks(b, err, "has no shared receive queues (max_srq is 0); leave out --srq");
	return iwarp ? check_iwarp(b, op, err) : 0;
}

/* --all goes as far as the transport does; a size that was named must fit. */
static void cut_sizes(struct bench *b, uint64_t most)
{
	struct size_list *l = &b->set.sizes;
	unsigned int count = l->count;

	while (l->count > 1 && l->v[l->count - 1] > most)
		l->count--;
	if (l->count < count)
		error_note(b->err, "--all ends at %llu bytes here", (unsigned long long)most);
}

static int message_limit(const struct bench *b, uint64_t *most, struct error *err)
{
	const struct candidate *port = bench_port(b);
	struct ibv_port_attr attr;
	int rc = ibv_query_port(bench_context(b), port->port, &attr);

	if (rc)
		return error_set(err, EXIT_FAILED, rc, "ibv_query_port of %s port %u", port->device,
				 port->port);
	*most = attr.max_msg_sz ? attr.max_msg_sz : 1ull << 31;
	return 0;
}

static int too_large(const struct bench *b, uint64_t size, uint64_t most, struct error *err)
{
	if (b->transport == TRANSPORT_UD)
		return error_set(err, EXIT_MISUSE, 0,
				 "--size %llu: a UD message is one packet, and the path MTU is "
				 "%llu bytes", (unsigned long long)size, (unsigned long long)most);
	return error_set(err, EXIT_MISUSE, 0,
			 "--size %llu: %s on the %s allows messages of at most %llu bytes (max_msg_sz)",
			 (unsigned long long)size, b->facts.name, b->server ? "server" : "client",
			 (unsigned long long)most);
}

static int check_sizes(struct bench *b, struct error *err)
{
	uint64_t most = bench_path_mtu(b);

	if (b->transport != TRANSPORT_UD && message_limit(b, &most, err))
		return -1;
	if (!b->server && option_given(&b->set, "all"))
		cut_sizes(b, most);
	else if (!b->server && !option_given(&b->set, "size") && b->set.sizes.v[0] > most)
		b->set.sizes.v[0] = most;
	for (unsigned int i = 0; i < b->set.sizes.count; i++)
		if (b->set.sizes.v[i] > most)
			return too_large(b, b->set.sizes.v[i], most, err);
	return 0;
}

int bench_check_device(struct bench *b, struct error *err)
{
	return check_operation(b, err) || check_sizes(b, err) ? -1 : 0;
}
