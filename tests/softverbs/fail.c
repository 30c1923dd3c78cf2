/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fail=any@k: whatever call fails, it says so, and what was made before can be taken down. */
#include "soft.h"

/* A small session that gives up at the first error: 0 done, 1 an error was reported. */
static int session(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	static char buf[4096];
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE) : NULL;
	struct ibv_comp_channel *ch = mr ? ibv_create_comp_channel(ctx) : NULL;
	struct ibv_cq *cq = ch ? ibv_create_cq(ctx, 16, NULL, ch, 0) : NULL;
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
				      .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_qp *qp = cq ? ibv_create_qp(pd, &a) : NULL;
	struct ibv_qp_attr q = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct ibv_wc wc;
	int err = !qp;

	err |= qp && ibv_modify_qp(qp, &q, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   IBV_QP_ACCESS_FLAGS);
	err |= qp && ibv_post_recv(qp, &wr, &bad);
	err |= cq && ibv_req_notify_cq(cq, 0);
	err |= cq && ibv_poll_cq(cq, 1, &wc) < 0;
	/* Taking down: a call that failed once succeeds the second time. */
	err |= qp && ibv_destroy_qp(qp) && ibv_destroy_qp(qp) == 0;
	err |= cq && ibv_destroy_cq(cq) && ibv_destroy_cq(cq) == 0;
	err |= ch && ibv_destroy_comp_channel(ch) && ibv_destroy_comp_channel(ch) == 0;
	err |= mr && ibv_dereg_mr(mr) && ibv_dereg_mr(mr) == 0;
	err |= pd && ibv_dealloc_pd(pd) && ibv_dealloc_pd(pd) == 0;
	err |= ctx && ibv_close_device(ctx) && ibv_close_device(ctx) == 0;
	if (list)
		ibv_free_device_list(list);
	return err;
}

static void test_every_call(void **state)
{
	char spec[64];
	int k;

	(void)state;
	for (k = 1; k < 100; k++) {
		snprintf(spec, sizeof(spec), "soft0:fail=any@%d", k);
		if (!in_child(spec, session))
			break;
		snprintf(spec, sizeof(spec), "soft0:fail=any@%d", k);
		assert_int_equal(in_child(spec, session), 1);
	}
	assert_int_equal(k, 18);	/* 17 calls, each of which failed once */
}

static int errno_of_reg(void)
{
	struct end e;

	end_open(&e, "soft0");
	e.mr = ibv_reg_mr(e.pd, &e, sizeof(e), 0);
	CHECK(e.mr);
	CHECK(!ibv_reg_mr(e.pd, &e, sizeof(e), 0) && errno == EPERM);
	CHECK(!ibv_dereg_mr(e.mr));
	e.mr = ibv_reg_mr(e.pd, &e, sizeof(e), 0);
	CHECK(e.mr);
	end_close(&e);
	return 0;
}

static void test_one_call(void **state)
{
	(void)state;
	assert_int_equal(in_child("soft0:fail=reg_mr@2:EPERM", errno_of_reg), 0);
}

static int no_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		CHECK(strcmp(ibv_get_device_name(list[i]), "soft0"));
	return 0;
}

static void test_not_asked_for(void **state)
{
	(void)state;
	assert_int_equal(in_child(NULL, no_device), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_call),
		cmocka_unit_test(test_one_call),
		cmocka_unit_test(test_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
