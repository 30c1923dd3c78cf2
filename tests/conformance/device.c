/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a device says of itself and of its port. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "conf.h"

static void attributes(struct conf *c)
{
	struct ibv_device_attr_ex ex = { .comp_mask = 0 };

	check(c, c->dev.phys_port_cnt >= 1, "IBTA 11.2.1.2", "there is a port");
	check(c, c->dev.max_qp > 0 && c->dev.max_qp_wr > 0 && c->dev.max_sge > 0 &&
	      c->dev.max_cq > 0 && c->dev.max_cqe > 0 && c->dev.max_mr > 0 && c->dev.max_pd > 0,
	      "IBTA 11.2.1.2", "every basic limit is above 0");
	check(c, c->dev.max_sge_rd > 0 && c->dev.max_qp_rd_atom > 0 &&
	      c->dev.max_qp_init_rd_atom > 0, "IBTA 11.2.1.2", "READ limits are above 0");
	check(c, c->dev.max_pkeys >= 1, "IBTA 10.9.2", "there is a P_Key table");
	check(c, c->dev.page_size_cap & 4096, "ibv_query_device(3)", "pages of 4096 are supported");
	check_eq(c, ibv_query_device_ex(c->ctx, NULL, &ex), 0, "ibv_query_device_ex(3)",
		 "ibv_query_device_ex works");
	check_eq(c, ex.orig_attr.max_qp, c->dev.max_qp, "ibv_query_device_ex(3)",
		 "both ways of asking give the same max_qp");
	check_eq(c, (long long)ibv_get_device_guid(c->ctx->device), (long long)c->dev.node_guid,
		 "ibv_get_device_guid(3)", "both ways of asking give the same GUID");
}

static void port(struct conf *c)
{
	struct ibv_port_attr p;
	bool ib = c->port.link_layer != IBV_LINK_LAYER_ETHERNET;

	check(c, c->port.active_mtu >= IBV_MTU_256 && c->port.active_mtu <= c->port.max_mtu,
	      "IBTA 14.2.5.6", "the active MTU is from 256 to the largest");
	check(c, c->port.max_msg_sz >= 1u << 20, "IBTA 9.2.8 (2^31 at most)",
	      "messages of 1 MiB are possible");
	check(c, c->port.gid_tbl_len >= 1 && c->port.pkey_tbl_len >= 1, "IBTA 11.2.1.2",
	      "the GID and P_Key tables have entries");
	check(c, ib == (c->port.lid != 0), "IBTA 4.1.3, A17",
		 "a LID is there with InfiniBand only");
	check(c, ibv_query_port(c->ctx, 0, &p) != 0, "ibv_query_port(3)", "port 0 is refused");
	check(c, ibv_query_port(c->ctx, (uint8_t)(c->dev.phys_port_cnt + 1), &p) != 0,
	      "ibv_query_port(3)", "the port after the last is refused");
}

static void tables(struct conf *c)
{
	struct ibv_gid_entry entry;
	union ibv_gid gid;
	__be16 pkey = 0;

	check(c, ibv_query_gid(c->ctx, c->port_num, c->port.gid_tbl_len, &gid) != 0,
	      "ibv_query_gid(3)", "a GID index behind the table is refused");
	check_eq(c, ibv_query_gid_ex(c->ctx, c->port_num, (uint32_t)c->gid_index, &entry, 0), 0,
		 "ibv_query_gid_ex(3)", "the GID in use has an entry");
	check(c, !memcmp(&entry.gid, &c->gid, sizeof(gid)), "ibv_query_gid_ex(3)",
	      "both ways of asking give the same GID");
	check_eq(c, ibv_query_pkey(c->ctx, c->port_num, 0, &pkey), 0, "ibv_query_pkey(3)",
		 "P_Key 0 can be asked for");
	check(c, ntohs(pkey) & 0x7fff, "IBTA 10.9.1.1", "P_Key 0 is a valid key");
	check_eq(c, ibv_get_pkey_index(c->ctx, c->port_num, pkey), 0, "ibv_get_pkey_index(3)",
		 "its index is found by the key");
	check(c, ibv_query_pkey(c->ctx, c->port_num, c->port.pkey_tbl_len, &pkey) != 0,
	      "ibv_query_pkey(3)", "a P_Key index behind the table is refused");
	check_eq(c, ibv_get_pkey_index(c->ctx, c->port_num, htons(0x1234)), -1,
		 "ibv_get_pkey_index(3)", "a key that is not in the table has no index");
}

void run_device(struct conf *c)
{
	attributes(c);
	port(c);
	tables(c);
}
