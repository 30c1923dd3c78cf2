/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The SPEC parser: every key, the defaults, and the place of every kind of mistake. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "../../softverbs/spec.h"
#include "../../softverbs/spec_parse.h"

static struct spec parse(const char *text)
{
	struct spec_error err;
	struct spec s;

	if (spec_parse(text, &s, &err))
		fail_msg("\"%s\": %s", text, err.text);
	return s;
}

static void test_defaults(void **state)
{
	static const char *const same[] = { NULL, "", "soft0" };

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		struct spec s = parse(same[i]);
		struct spec_port *p = &s.dev[0].port[0];

		assert_int_equal(s.ndev, 1);
		assert_string_equal(s.dev[0].name, "soft0");
		assert_int_equal(s.dev[0].nports, 1);
		assert_true(s.dev[0].max_cqe >= 131072);
		assert_int_equal(s.dev[0].types, SPEC_RC | SPEC_UC | SPEC_UD);
		assert_int_equal(s.dev[0].delay.n, 0);
		assert_int_equal(p->link, SPEC_LINK_IB);
		assert_int_equal(p->state, IBV_PORT_ACTIVE);
		assert_int_equal(p->lid, 1);
		assert_int_equal(p->sm_lid, 1);
		assert_int_equal(p->mtu, IBV_MTU_4096);
		assert_int_equal(p->ngids, 1);
		assert_int_equal(p->gid[0].raw[0], 0xfe);
		assert_int_equal(p->npkeys, 1);
		assert_int_equal(p->pkey[0], 0xffff);
		spec_free(&s);
	}
}

static void test_device_keys(void **state)
{
	struct spec s = parse("a:delay=2us+exp(1.5us),out=uniform(1us,3us),back=10ns,bw=100Gb/s,"
			      "seed=0x10,complete=post,async=9,trace=/tmp/t,mode=pvm,atomic=hca,"
			      "types=RC|UD,max_inline=64,max_cqe=131072,max_qp=10,max_qp_wr=20,"
			      "max_rd_atomic=3,max_msg=8192,max_mr_size=0x100000000");
	struct spec_device *d = s.dev;

	(void)state;
	assert_int_equal(d->delay.n, 2);
	assert_int_equal(d->delay.term[0].kind, DIST_CONST);
	assert_int_equal(d->delay.term[0].a, 2000);
	assert_int_equal(d->delay.term[1].kind, DIST_EXP);
	assert_int_equal(d->delay.term[1].a, 1500);
	assert_int_equal(d->out.term[0].kind, DIST_UNIFORM);
	assert_int_equal(d->out.term[0].b, 3000);
	assert_int_equal(d->back.term[0].a, 10);
	assert_int_equal(d->bw, 100000000000u);
	assert_int_equal(d->seed, 16);
	assert_true(d->complete_post);
	assert_true(d->async);
	assert_int_equal(d->async_seed, 9);
	assert_string_equal(d->trace, "/tmp/t");
	assert_int_equal(d->mode, SPEC_MODE_PVM);
	assert_int_equal(d->atomic, IBV_ATOMIC_HCA);
	assert_int_equal(d->types, SPEC_RC | SPEC_UD);
	assert_int_equal(d->max_inline, 64);
	assert_int_equal(d->max_cqe, 131072);
	assert_int_equal(d->max_qp, 10);
	assert_int_equal(d->max_qp_wr, 20);
	assert_int_equal(d->max_rd_atomic, 3);
	assert_int_equal(d->max_msg, 8192);
	assert_int_equal(d->max_mr_size, 1ull << 32);
	spec_free(&s);
}

static void test_delay_forms(void **state)
{
	struct spec s = parse("a:delay=periodic(512,4,20us)+steps(0:1us|500:5us)+file:/x/y+0");
	struct dist *d = &s.dev[0].delay;

	(void)state;
	assert_int_equal(d->n, 4);
	assert_int_equal(d->term[0].kind, DIST_PERIODIC);
	assert_int_equal(d->term[0].a, 512);
	assert_int_equal(d->term[0].b, 4);
	assert_int_equal(d->term[0].extra, 20000);
	assert_int_equal(d->term[1].nsteps, 2);
	assert_int_equal(d->term[1].step[1].lap, 500);
	assert_int_equal(d->term[1].step[1].ns, 5000);
	assert_string_equal(d->term[2].path, "/x/y");
	assert_int_equal(d->term[3].a, 0);
	spec_free(&s);
}

static void test_fault_keys(void **state)
{
	struct spec s = parse("a:drop=0.25|3@10,dup=1,corrupt=2@7,rnr=4@2,flip=5@64|6@0,"
			      "err=REM_ACCESS_ERR@3|IBV_WC_RETRY_EXC_ERR@4,err=loc_prot_err@5,"
			      "fail=reg_mr@2|any@9:EINVAL|ibv_create_cq@1:28,die@7,hang@8,"
			      "event=PORT_ERR@0|port_active@100ms|GID_CHANGE@5,stall=5ms@3|1us@4");
	struct spec_faults *f = &s.dev[0].fault;

	(void)state;
	assert_int_equal(f->drop.n, 2);
	assert_true(f->drop.at[0].p == 0.25);
	assert_int_equal(f->drop.at[1].count, 3);
	assert_int_equal(f->drop.at[1].first, 10);
	assert_true(f->dup.at[0].p == 1);
	assert_int_equal(f->corrupt.at[0].first, 7);
	assert_int_equal(f->rnr.at[0].count, 4);
	assert_int_equal(f->nflip, 2);
	assert_int_equal(f->flip[0].n, 5);
	assert_int_equal(f->flip[0].offset, 64);
	assert_int_equal(f->nerr, 3);
	assert_int_equal(f->err[1].status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(f->err[2].status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(f->err[2].n, 5);
	assert_int_equal(f->nfail, 3);
	assert_int_equal(f->fail[0].call, SPEC_CALL_reg_mr);
	assert_int_equal(f->fail[0].err, ENOMEM);
	assert_int_equal(f->fail[1].call, SPEC_CALL_any);
	assert_int_equal(f->fail[1].err, EINVAL);
	assert_int_equal(f->fail[2].err, 28);
	assert_int_equal(f->die, 7);
	assert_int_equal(f->hang, 8);
	assert_int_equal(f->nevent, 3);
	assert_false(f->event[0].timed);
	assert_int_equal(f->event[1].type, IBV_EVENT_PORT_ACTIVE);
	assert_true(f->event[1].timed);
	assert_int_equal(f->event[1].ns, 100000000);
	assert_int_equal(f->event[2].n, 5);
	assert_int_equal(f->nstall, 2);
	assert_int_equal(f->stall[0].ns, 5000000);
	assert_int_equal(f->stall[0].n, 3);
	spec_free(&s);
}

static void test_ports(void **state)
{
	struct spec s = parse("soft0;soft1:port2.lid=77,link=eth,port2.link=ib,mtu=1024,lid=5,"
			      "gids=fe80::1|10.0.0.1/v1,lmc=2,pkeys=0x8001|0xffff,width=1x,"
			      "speed=NDR,state=down,port2.state=active,port2.event=PORT_ERR@1,"
			      "port2.gids=none,sm_lid=9");
	struct spec_port *p = s.dev[1].port;

	(void)state;
	assert_int_equal(s.ndev, 2);
	assert_int_equal(s.dev[1].nports, 2);
	assert_int_equal(p[0].link, SPEC_LINK_ETH);
	assert_int_equal(p[1].link, SPEC_LINK_IB);
	assert_true(p[0].grh_required);
	assert_false(p[1].grh_required);
	assert_int_equal(p[0].lid, 5);
	assert_int_equal(p[1].lid, 77);
	assert_int_equal(p[1].sm_lid, 9);
	assert_int_equal(p[1].mtu, IBV_MTU_1024);
	assert_int_equal(p[0].ngids, 2);
	assert_int_equal(p[1].ngids, 0);
	assert_int_equal(p[0].gid_type[0], IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(p[0].gid_type[1], IBV_GID_TYPE_ROCE_V1);
	assert_memory_equal(p[0].gid[1].raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	assert_int_equal(p[1].lmc, 2);
	assert_int_equal(p[1].npkeys, 2);
	assert_int_equal(p[1].pkey[0], 0x8001);
	assert_int_equal(p[0].width, 1);
	assert_int_equal(p[0].speed, 128);
	assert_int_equal(p[0].state, IBV_PORT_DOWN);
	assert_int_equal(p[1].state, IBV_PORT_ACTIVE);
	assert_int_equal(s.dev[1].fault.event[0].port, 2);
	assert_true(s.dev[0].guid != s.dev[1].guid);
	spec_free(&s);
}

static void test_two_ports_have_two_lids(void **state)
{
	struct spec s = parse("a:ports=2");

	(void)state;
	assert_int_equal(s.dev[0].port[0].lid, 1);
	assert_int_equal(s.dev[0].port[1].lid, 2);
	assert_memory_not_equal(&s.dev[0].port[0].gid[0], &s.dev[0].port[1].gid[0], 16);
	spec_free(&s);
	s = parse("a:link=eth,ports=2,grh_required");
	assert_int_equal(s.dev[0].port[1].lid, 0);
	assert_true(s.dev[0].port[1].grh_required);
	spec_free(&s);
}

static const struct {
	const char *text;
	size_t pos;
	const char *says;	/* part of the line */
} wrong[] = {
	{ ";soft1", 0, "found nothing" },
	{ "soft0;", 6, "device name" },
	{ "0soft", 0, "device name" },
	{ "so ft", 2, "found \" ft\"" },
	{ "soft0;soft0", 6, "each name once" },
	{ "soft0:", 6, "the keys delay=" },
	{ "soft0:lnk=ib", 6, "found \"lnk\", allowed: the keys delay=" },
	{ "soft0:lid=1,", 12, "the keys" },
	{ "soft0:lid", 9, "lid: KEY=VALUE" },
	{ "soft0:lid@3", 9, "KEY=VALUE" },
	{ "soft0:die=3", 9, "KEY@N" },
	{ "soft0:grh_required=1", 18, "the key alone" },
	{ "soft0:lid=0x", 10, "0 to 65535" },
	{ "soft0:lid=65536", 10, "0 to 65535" },
	{ "soft0:seed=99999999999999999999", 11, "a number" },
	{ "soft0:lid=1,lid=2", 12, "once" },
	{ "soft0:lmc=8", 10, "0 to 7" },
	{ "soft0:mtu=1500", 10, "256, 512, 1024" },
	{ "soft0:link=wifi", 11, "ib, eth, iwarp" },
	{ "soft0:state=up", 12, "down, init" },
	{ "soft0:mode=x", 11, "shared, pvm" },
	{ "soft0:atomic=yes", 13, "none, hca, glob" },
	{ "soft0:types=RC|XRC", 15, "RC, UC, UD" },
	{ "soft0:width=3x", 12, "1x" },
	{ "soft0:speed=fast", 12, "SDR" },
	{ "soft0:complete=never", 15, "post" },
	{ "soft0:async=x", 12, "a number" },
	{ "soft0:bw=100", 9, "100Gb/s" },
	{ "soft0:bw=100Mib/s", 9, "100Gb/s" },
	{ "soft0:trace=", 12, "a path" },
	{ "soft0:ports=9", 12, "1 to 8" },
	{ "soft0:port9.lid=1", 6, "port1. to port8." },
	{ "soft0:part2.lid=1", 6, "port1. to port8." },
	{ "soft0:port2.seed=1", 12, "a key of a port" },
	{ "soft0:ports=1,port2.lid=3", 14, "ports=1" },
	{ "soft0:gids=fe80::1|nonsense", 19, "IPv6" },
	{ "soft0:gids=1.2.3.4/v3", 11, "/v1" },
	{ "soft0:gids=", 11, "found nothing" },
	{ "soft0:pkeys=1|0x10000", 14, "P_Key" },
	{ "soft0:delay=2", 12, "uniform(A,B)" },
	{ "soft0:delay=2us+", 16, "found nothing" },
	{ "soft0:delay=2us+3m", 16, "3m" },
	{ "soft0:delay=2us|3us", 12, "uniform" },
	{ "soft0:delay=uniform(1us)", 23, "uniform(LOW,HIGH)" },
	{ "soft0:delay=uniform(1us,2us,3us)", 28, "uniform(LOW,HIGH)" },
	{ "soft0:delay=uniform(3us,2us)", 24, "not below LOW" },
	{ "soft0:delay=exp(x)", 16, "a time" },
	{ "soft0:delay=periodic(4,5,1us)", 23, "0 to 4" },
	{ "soft0:delay=steps(0:1us|0:2us)", 24, "laps, 1 to" },
	{ "soft0:delay=steps(0)", 18, "LAP:DELAY" },
	{ "soft0:delay=file:", 17, "file:PATH" },
	{ "soft0:delay=exp(1us", 15, "a ( with its )" },
	{ "soft0:delay=1us)", 15, "a ) only after" },
	{ "soft0:drop=1.5", 11, "probability" },
	{ "soft0:drop=2@0", 13, "from 1" },
	{ "soft0:drop=x@3", 11, "messages" },
	{ "soft0:flip=3", 11, "MESSAGE@OFFSET" },
	{ "soft0:flip=3@x", 13, "offset" },
	{ "soft0:err=BOOM@3", 10, "LOC_LEN_ERR" },
	{ "soft0:err=RETRY_EXC_ERR", 10, "STATUS@N" },
	{ "soft0:err=RETRY_EXC_ERR@", 24, "found nothing" },
	{ "soft0:fail=open@1", 11, "open_device" },
	{ "soft0:fail=reg_mr@1:EWHAT", 20, "ENOMEM" },
	{ "soft0:fail=reg_mr", 11, "CALL@K" },
	{ "soft0:event=BOOM@1", 12, "PORT_ERR" },
	{ "soft0:event=PORT_ERR", 12, "NAME@N" },
	{ "soft0:event=PORT_ERR@x", 21, "a time" },
	{ "soft0:stall=5@3", 12, "a time" },
	{ "soft0:die@0", 10, "a number" },
};

static void test_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct spec_error err;
		struct spec s;

		if (!spec_parse(wrong[i].text, &s, &err))
			fail_msg("accepted: %s", wrong[i].text);
		if (err.pos != wrong[i].pos || !strstr(err.text, wrong[i].says))
			fail_msg("\"%s\": wanted %zu and \"%s\", got %zu: %s", wrong[i].text,
				 wrong[i].pos, wrong[i].says, err.pos, err.text);
		assert_null(strchr(err.text, '\n'));
		assert_null(s.dev);
	}
}

static void test_limits_of_lists(void **state)
{
	char text[1024] = "a:pkeys=1";
	struct spec_error err;
	struct spec s;

	(void)state;
	for (int i = 1; i < SPEC_PKEYS; i++)
		strcat(text, "|1");
	s = parse(text);
	assert_int_equal(s.dev[0].port[0].npkeys, SPEC_PKEYS);
	spec_free(&s);
	strcat(text, "|1");
	assert_int_equal(spec_parse(text, &s, &err), -1);
	assert_int_equal(err.pos, strlen(text) - 1);
}

/* What --help calls the default is: a device that is told so is the same as one that is not. */
static void test_fallbacks(void **state)
{
	struct spec plain = parse("soft0");
	int compared = 0;

	(void)state;
	for (const struct spec_key *k = spec_keys; k->name; k++) {
		char text[128];
		struct spec s;
		int n = k->fallback ? (int)strcspn(k->fallback, ";") : 0;

		assert_non_null(k->help);
		if (!n || k->form != SPEC_VALUE || memchr(k->fallback, ' ', (size_t)n) ||
		    !strcmp(k->fallback, "all"))
			continue;	/* in words */
		snprintf(text, sizeof(text), "soft0:%s=%.*s", k->name, n, k->fallback);
		s = parse(text);
		if (memcmp(s.dev, plain.dev, sizeof(*s.dev)))
			fail_msg("%s is not the default", text);
		compared++;
		spec_free(&s);
	}
	assert_true(compared >= 15);
	spec_free(&plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_fallbacks),
		cmocka_unit_test(test_device_keys),
		cmocka_unit_test(test_delay_forms),
		cmocka_unit_test(test_fault_keys),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_two_ports_have_two_lids),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_limits_of_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
