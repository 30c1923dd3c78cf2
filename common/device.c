/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "device.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "netdev.h"
#include "options.h"
#include "sysfs.h"

uint16_t mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? (uint16_t)(128 << mtu) : 0;
}

enum ibv_mtu mtu_from_bytes(uint64_t bytes)
{
	for (enum ibv_mtu m = IBV_MTU_256; m <= IBV_MTU_4096; m++)
		if (mtu_bytes(m) == bytes)
			return m;
	return (enum ibv_mtu)0;
}

bool device_gids_unusable(const struct candidate *c, char *why, size_t cap)
{
	if (c->link != LINK_ETHERNET)
		return false;
	for (int i = 0; i < c->gid_count; i++)
		if (!gid_is_zero(&c->gids[i].gid))
			return false;
	snprintf(why, cap,
		 "has no GID (its GID table is empty): give its network interface an address, and run "
		 "in the network namespace of that interface");
	return true;
}

/* Why ports were passed over, for the message when none is left. */
struct survey {
	char passed_over[512];
	int devices;     /* that fit the name */
	int opened;
	int open_errno;
	bool asked_fails; /* what the user named is there and cannot be used */
};

static void pass_over(struct survey *s, const char *fmt, const char *device, unsigned int port,
		      const char *why)
{
	size_t len = strlen(s->passed_over);

	snprintf(s->passed_over + len, sizeof(s->passed_over) - len, "%s", len ? "; " : "");
	len = strlen(s->passed_over);
	snprintf(s->passed_over + len, sizeof(s->passed_over) - len, fmt, device, port, why);
}

/* Entries of one port out of the device's table; zero GIDs are left out. */
static void take_gids(struct candidate *c, const struct ibv_gid_entry *table, ssize_t n,
		      const struct device_wish *wish)
{
	for (ssize_t i = 0; i < n && c->gid_count < CANDIDATE_GIDS_MAX; i++) {
		struct gid_entry *g = &c->gids[c->gid_count];

		/* An address handle holds the index in 8 bits. */
		if (table[i].port_num != c->port || table[i].gid_index > UINT8_MAX ||
		    (wish->gid_index != OPTION_AUTO && table[i].gid_index != wish->gid_index))
			continue;
		memset(g, 0, sizeof(*g));
		g->gid = table[i].gid;
		g->index = table[i].gid_index;
		g->type = (enum gid_type)table[i].gid_type;
		if (gid_is_zero(&g->gid))
			continue;
		netdev_of_gid(table[i].ndev_ifindex, g);
		c->gid_count++;
	}
}

static bool read_gids(struct ibv_context *ctx, struct candidate *c, const struct device_wish *wish)
{
	size_t max = 1024;
	struct ibv_gid_entry *table = calloc(max, sizeof(*table));
	ssize_t n;

	if (!table)
		return false;
	n = ibv_query_gid_table(ctx, table, max, 0);
	take_gids(c, table, n, wish);
	free(table);
	return n >= 0;
}

static bool read_pkeys(struct ibv_context *ctx, struct candidate *c, int len)
{
	for (int i = 0; i < len && i < CANDIDATE_PKEYS_MAX; i++) {
		__be16 pkey;

		if (ibv_query_pkey(ctx, c->port, i, &pkey))
			return false;
		c->pkeys[c->pkey_count++] = be16toh(pkey);
	}
	return true;
}

/* Says what could not be read, or NULL: a table with a hole would be blamed on the other end. */
static const char *fill_candidate(struct ibv_context *ctx, const struct ibv_device_attr *da,
			   const struct ibv_port_attr *pa, const struct device_wish *wish,
			   struct candidate *c)
{
	union ibv_gid gid0;

	c->link = pa->link_layer == IBV_LINK_LAYER_ETHERNET ? LINK_ETHERNET : LINK_IB;
	if (ctx->device->transport_type == IBV_TRANSPORT_IWARP)
		c->link = LINK_IWARP;
	c->lid = pa->lid;
	c->lmc = pa->lmc;
	c->mtu = mtu_bytes(pa->active_mtu);
	c->grh = c->link == LINK_ETHERNET || (pa->flags & IBV_QPF_GRH_REQUIRED) ||
		 wish->gid_index != OPTION_AUTO;
	c->max_rd_atomic = da->max_qp_init_rd_atom;
	c->max_dest_rd_atomic = da->max_qp_rd_atom;
	if (!ibv_query_gid(ctx, c->port, 0, &gid0))
		c->prefix = be64toh(gid0.global.subnet_prefix);
	else if (c->link == LINK_IB)
		return "has a GID that cannot be read (index 0)";
	if (!read_gids(ctx, c, wish))
		return "has a GID table that cannot be read";
	return read_pkeys(ctx, c, pa->pkey_tbl_len) ? NULL : "has P_Keys that cannot be read";
}

/* Says why the port cannot be used, or NULL. */
static const char *port_trouble(const struct ibv_port_attr *pa,
				const struct candidate *c, const struct device_wish *wish,
				char *buf, size_t cap)
{
	if (pa->state != IBV_PORT_ACTIVE) {
		snprintf(buf, cap, "is %s%s", ibv_port_state_str(pa->state),
			 c->link != LINK_IB ? " (is its network interface up?)" :
						    " (cable? subnet manager?)");
		return buf;
	}
	if (wish->gid_index != OPTION_AUTO && !c->gid_count) {
		snprintf(buf, cap, "has no GID at index %llu (ibv_devinfo -v shows the table)",
			 (unsigned long long)wish->gid_index);
		return buf;
	}
	if (device_gids_unusable(c, buf, cap))
		return buf;
	if (c->link == LINK_IB && !c->lid)
		return "has LID 0: no subnet manager has configured it";
	if (!c->mtu)
		return "has no active MTU";
	return NULL;
}

/* 1 when the port was added. */
static int survey_port(struct device_set *set, struct ibv_context *ctx,
		       const struct ibv_device_attr *da, uint8_t port,
		       const struct device_wish *wish, struct survey *s)
{
	const char *name = ibv_get_device_name(ctx->device), *unread, *trouble;
	struct candidate *c = &set->list.v[set->list.count];
	struct ibv_port_attr pa;
	char buf[200];

	if (ibv_query_port(ctx, port, &pa)) {
		pass_over(s, "%s port %u %s", name, port, "cannot be queried");
		return 0;
	}
	memset(c, 0, sizeof(*c));
	snprintf(c->device, sizeof(c->device), "%s", name);
	c->port = port;
	unread = fill_candidate(ctx, da, &pa, wish, c);
	trouble = pa.state == IBV_PORT_ACTIVE ? unread : NULL;
	if (!trouble)
		trouble = port_trouble(&pa, c, wish, buf, sizeof(buf));
	if (trouble) {
		pass_over(s, "%s port %u %s", name, port, trouble);
		return 0;
	}
	set->contexts[set->list.count++] = ctx;
	return 1;
}

static int survey_ports(struct device_set *set, struct ibv_context *ctx,
			const struct ibv_device_attr *da, const struct device_wish *wish,
			struct survey *s)
{
	const char *name = ibv_get_device_name(ctx->device);
	int used = 0;

	if (wish->port != OPTION_AUTO && wish->port > da->phys_port_cnt) {
		char why[64];

		snprintf(why, sizeof(why), "does not exist: the device has %u port%s",
			 da->phys_port_cnt, da->phys_port_cnt == 1 ? "" : "s");
		pass_over(s, "%s port %u %s", name, (unsigned int)wish->port, why);
		return 0;
	}
	for (unsigned int p = 1; p <= da->phys_port_cnt && set->list.count < CANDIDATES_MAX; p++)
		if (wish->port == OPTION_AUTO || wish->port == p)
			used += survey_port(set, ctx, da, (uint8_t)p, wish, s);
	return used;
}

static void survey_device(struct device_set *set, struct ibv_device *dev,
			  const struct device_wish *wish, struct survey *s)
{
	const char *name = ibv_get_device_name(dev);
	struct ibv_context *ctx;
	struct ibv_device_attr da;

	if (wish->name && strcmp(wish->name, name))
		return;
	s->devices++;
	ctx = ibv_open_device(dev);
	if (!ctx) {
		s->open_errno = errno;
		pass_over(s, "%s%.0u cannot be opened: %s", name, 0, strerror(errno));
		return;
	}
	s->opened++;
	if (ibv_query_device(ctx, &da)) {
		pass_over(s, "%s%.0u cannot be queried%s", name, 0, "");
		ibv_close_device(ctx);
	} else if (!survey_ports(set, ctx, &da, wish, s)) {
		ibv_close_device(ctx);
	}
}

static void list_names(struct ibv_device **devs, int n, char *out, size_t cap)
{
	*out = '\0';
	for (int i = 0; i < n; i++) {
		size_t len = strlen(out);

		snprintf(out + len, cap - len, "%s%s", i ? ", " : "", ibv_get_device_name(devs[i]));
	}
}

/* No device in the library's list: is there none, or does only its provider miss? */
static int no_devices(const struct device_wish *wish, struct error *err)
{
	char first[64];

	if (sysfs_first_entry(wish->sys_root, "class/infiniband", first, sizeof(first)))
		return error_set(err, EXIT_FAILED, 0,
				 "the kernel has RDMA device %s, but libibverbs cannot use it: install "
				 "the package ibverbs-providers and load the module ib_uverbs", first);
	return error_set(err, EXIT_FAILED, 0,
			 "no RDMA device on this machine; `softverbs %s ...` runs on a software "
			 "device", err->program);
}

static int nothing_usable(struct ibv_device **devs, int n, const struct device_wish *wish,
			  const struct survey *s, struct error *err)
{
	bool asked = wish->name || wish->port != OPTION_AUTO || wish->gid_index != OPTION_AUTO;
	char names[256];

	if (wish->name && !s->devices) {
		list_names(devs, n, names, sizeof(names));
		return error_set(err, EXIT_MISUSE, 0, "no RDMA device %s here; there %s %s",
				 wish->name, n == 1 ? "is" : "are", names);
	}
	return error_set(err, asked && s->opened ? EXIT_MISUSE : EXIT_FAILED, 0,
			 "no usable RDMA port: %s", s->passed_over);
}

int device_open_all(struct device_set *set, const struct device_wish *wish, struct error *err)
{
	struct survey s = { .devices = 0 };
	struct ibv_device **devs;
	int n = 0, rc = 0;

	memset(set, 0, sizeof(*set));
	set->list.v = calloc(CANDIDATES_MAX, sizeof(*set->list.v));
	if (!set->list.v)
		return error_set(err, EXIT_FAILED, ENOMEM, "listing RDMA devices");
	devs = ibv_get_device_list(&n);
	if (!devs || n == 0) {
		if (devs)
			ibv_free_device_list(devs);
		return no_devices(wish, err);
	}
	for (int i = 0; i < n && set->list.count < CANDIDATES_MAX; i++)
		survey_device(set, devs[i], wish, &s);
	if (!set->list.count)
		rc = nothing_usable(devs, n, wish, &s, err);
	ibv_free_device_list(devs);
	return rc;
}

void device_close_others(struct device_set *set, int keep, struct error *err)
{
	struct ibv_context *kept = keep >= 0 ? set->contexts[keep] : NULL;

	for (int i = 0; i < set->list.count; i++) {
		struct ibv_context *ctx = set->contexts[i];

		if (!ctx || ctx == kept)
			continue;
		for (int k = i; k < set->list.count; k++)
			if (set->contexts[k] == ctx)
				set->contexts[k] = NULL;
		errno = 0;
		if (ibv_close_device(ctx))
			error_set(err, EXIT_FAILED, errno, "ibv_close_device on %s",
				  set->list.v[i].device);
	}
	if (keep < 0)
		candidates_free(&set->list);
}

static const char *software_of(const struct ibv_device_attr *a)
{
	if (!strncmp(a->fw_ver, "softverbs", 9))
		return "softverbs";
	if (a->vendor_id == 0xffffff) /* drivers/infiniband/sw/rxe */
		return "rxe";
	if (a->vendor_id == 0x626d74) /* drivers/infiniband/sw/siw */
		return "siw";
	return NULL;
}

int device_read_facts(struct ibv_context *ctx, const char *sys_root, struct device_facts *f,
		      struct error *err)
{
	char path[160];
	int rc;

	memset(f, 0, sizeof(*f));
	snprintf(f->name, sizeof(f->name), "%s", ibv_get_device_name(ctx->device));
	rc = ibv_query_device(ctx, &f->attr);
	if (rc)
		return error_set(err, EXIT_FAILED, rc, "ibv_query_device on %s", f->name);
	snprintf(f->firmware, sizeof(f->firmware), "%s", f->attr.fw_ver);
	f->software = software_of(&f->attr);
	snprintf(path, sizeof(path), "class/infiniband/%s/device/numa_node", f->name);
	f->numa_node = (int)sysfs_read_int(sys_root, path, -1);
	return 0;
}
