/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of a newer rdma-core: buffers of the device, the extended registration, refusals. */
#include "../../softverbs/newer.h"
#include "soft.h"

#define LEN 16384
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

static struct ibv_mr *reg_ex(struct ibv_pd *pd, struct sv_mr_init *a)
{
	errno = 0;
	return ibv_reg_mr_ex(pd, (struct ibv_mr_init_attr *)(void *)a);
}

/* A WRITE lands in a buffer that the device allocated. */
static int buffers(void)
{
	struct end a, b;
	struct ibv_buf *buf;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct addr to;
	uint8_t *p;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
	p = ibv_alloc_buf(b.pd, LEN, &buf);
	CHECK(p);
	mr = ibv_reg_buf_mr(b.pd, buf, p + 64, LEN - 64, ACCESS);
	CHECK(mr && mr->length == LEN - 64);
	to.va = (uintptr_t)p;
	to.rkey = mr->rkey;
	strcpy((char *)a.buf, "in it");
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 6, &to, 64, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5) && !wc.status && !strcmp((char *)p + 64, "in it"));
	CHECK(ibv_export_buf_dmabuf_fd(buf) == -1 && errno == ENODATA);
	/* Beyond its end, before its start, and of another protection domain */
	CHECK(!ibv_reg_buf_mr(b.pd, buf, p + 64, LEN, ACCESS) && errno == EINVAL);
	CHECK(!ibv_reg_buf_mr(b.pd, buf, p - 64, 64, ACCESS) && errno == EINVAL);
	CHECK(!ibv_reg_buf_mr(a.pd, buf, p, LEN, ACCESS) && errno == EINVAL);
	CHECK(!ibv_dereg_mr(mr));
	ibv_free_buf(buf);
	CHECK(!ibv_alloc_buf(b.pd, 0, &buf) && errno == EINVAL);
	end_close(&a);
	end_close(&b);
	return 0;
}

static int extended(void)
{
	struct sv_mr_init m = { .length = 4096, .access = ACCESS, .iova = 0x10000,
				.mask = SV_MR_ADDR | SV_MR_IOVA };
	struct ibv_wc wc;
	struct end a, b;
	struct addr to;
	struct ibv_mr *mr;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
	m.addr = b.buf;
	mr = reg_ex(b.pd, &m);
	CHECK(mr);
	to.rkey = mr->rkey;
	to.va = 0x10000;
	strcpy((char *)a.buf, "iova");
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 5, &to, 128, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5) && !wc.status && !strcmp((char *)b.buf + 128, "iova"));
	CHECK(!ibv_dereg_mr(mr));
	m.mask = SV_MR_IOVA;
	CHECK(!reg_ex(b.pd, &m) && errno == EINVAL);
	m.mask = SV_MR_ADDR | 4;	/* a DMA-buf */
	CHECK(!reg_ex(b.pd, &m) && errno == EOPNOTSUPP);
	m.mask = SV_MR_ADDR | SV_MR_BUF;	/* no buffer of ours */
	CHECK(!reg_ex(b.pd, &m) && errno == EINVAL);
	end_close(&a);
	end_close(&b);
	return 0;
}

static int refusals(void)
{
	struct end e;
	uint64_t n;

	end_open(&e, "soft0");
	end_qp(&e, IBV_QPT_RC, 4);
	CHECK(ibv_query_port_speed(e.ctx, 1, &n) == EOPNOTSUPP);
	CHECK(_ibv_query_comp_cntr_caps(e.ctx, NULL, 0) == EOPNOTSUPP);
	CHECK(ibv_qp_attach_comp_cntr(e.qp, NULL, NULL) == EOPNOTSUPP);
	CHECK(!ibv_create_comp_cntr(e.ctx, NULL) && errno == EOPNOTSUPP);
	errno = 0;
	CHECK(!ibv_alloc_dmah(e.ctx, NULL) && errno == EOPNOTSUPP);
	end_close(&e);
	return 0;
}

#define CASE(f)                                                                                    \
	static void test_##f(void **state)                                                         \
	{                                                                                          \
		(void)state;                                                                       \
		assert_int_equal(in_child("soft0", f), 0);                                         \
	}
CASE(buffers)
CASE(extended)
CASE(refusals)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_extended),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
