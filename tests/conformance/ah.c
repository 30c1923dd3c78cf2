/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles: what is refused, and one made from a completion leads back. */
#include <errno.h>
#include <string.h>

#include "pair.h"

#define GRH 40

static void refused(struct conf *c, struct ibv_ah_attr *av, const char *what)
{
	struct ibv_ah *ah;

	errno = 0;
	ah = ibv_create_ah(c->pd, av);
	check(c, !ah && errno, "IBTA 11.2.2.1, ibv_create_ah(3)", "%s is refused", what);
	if (ah)
		ibv_destroy_ah(ah);
}

static void attributes(struct conf *c)
{
	struct ibv_ah_attr av;
	struct ibv_ah *ah;

	av_to_self(c, &av);
	ah = ibv_create_ah(c->pd, &av);
	check(c, ah != NULL, "ibv_create_ah(3)", "an address of this port is taken");
	if (ah)
		check_eq(c, ibv_destroy_ah(ah), 0, "ibv_destroy_ah(3)", "and given up");
	av.port_num = 0;
	refused(c, &av, "port 0");
	av.port_num = (uint8_t)(c->dev.phys_port_cnt + 1);
	refused(c, &av, "a port behind the last");
	av_to_self(c, &av);
	av.is_global = 1;
	av.grh.sgid_index = 255;
	if (c->port.gid_tbl_len < 256)
		refused(c, &av, "a source GID index behind the table");
	if (c->port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		av_to_self(c, &av);
		av.is_global = 0;
		refused(c, &av, "an address without GRH on RoCE");
	}
}

/* From the completion and the header of a message, both ways of making its answer's address. */
static void from_completion(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct ibv_grh *grh = (void *)p->b.buf;
	struct ibv_ah_attr av;
	struct ibv_ah *ah;
	struct ibv_wc wc;

	post_recv(&p->b, 1, 0, 100);
	post_recv(&p->a, 2, 8192, 100);
	if (!check(c, do_wr(p, &w) == IBV_WC_SUCCESS &&
		   wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS, "IBTA 9.8.3",
		   "a message is received"))
		return;
	memset(&av, 0, sizeof(av));
	check_eq(c, ibv_init_ah_from_wc(c->ctx, c->port_num, &wc, grh, &av), 0,
		 "ibv_create_ah_from_wc(3)", "an address is read from the completion");
	check(c, av.port_num == c->port_num && av.is_global == c->grh &&
	      (!c->grh || !memcmp(&av.grh.dgid, &c->gid, 16)) && (c->grh || av.dlid == c->port.lid),
	      "ibv_create_ah_from_wc(3)", "and is that of the sender");
	ah = ibv_create_ah_from_wc(c->pd, &wc, grh, c->port_num);
	if (!check(c, ah != NULL, "ibv_create_ah_from_wc(3)", "a handle is made of it"))
		return;
	{
		struct ibv_sge sge = { (uintptr_t)p->b.buf + 4096, 8, p->b.mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
					  .wr.ud = { ah, wc.src_qp, QKEY } }, *bad;

		memset(p->b.buf + 4096, 0x66, 8);
		check(c, !ibv_post_send(p->b.qp, &wr, &bad) &&
		      wait_wc(p->a.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS &&
		      p->a.buf[8192 + GRH] == 0x66, "ibv_create_ah_from_wc(3)",
		      "the answer arrives at the sender");
	}
	ibv_destroy_ah(ah);
}

void run_ah(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_UD);
	struct pair p;

	attributes(c);
	if (pair_open(c, &p, &o))
		return;
	from_completion(c, &p);
	pair_close(&p);
}
