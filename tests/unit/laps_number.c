/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where messages may be lost: each end against a peer on paper that loses, delays, doubles; by
 * completions and by marks, over queue pairs whose completions go to queues of their own.
 */
#include "unit.h"

#include "deadline.h"
#include "pingpong_ops.h"

#define QPS 4
#define LAPS_MAX 16
#define FIRST 0xfffffff8ull /* the 32 bits of a number run over */
#define WORDS 2

/* What becomes of a lap's answer. */
enum fate { IN_TIME, LOST, LATE, TWICE };

struct queue {
	struct ibv_wc wc[LAPS_MAX];
	unsigned int count;
};

struct world {
	struct lap_run r;
	struct lap_store store;
	struct lap_goal goal;
	struct lap_result res;
	struct settings set;
	struct wait wait;
	struct error err;
	struct lane lanes[QPS];
	struct endpoint_cqs cqs[QPS];
	struct ibv_cq send[QPS], recv[QPS];
	struct queue queue[QPS]; /* completions of receives */
	struct ibv_qp qp;
	struct ibv_context ctx;
	uint64_t out[QPS][WORDS], in[QPS][WORDS];
	unsigned int reposted;
	/* the client's peer */
	const enum fate *fates;
	uint64_t held;      /* number of an answer that comes with the next one; 0: none */
	unsigned int held_lane;
	/* the server's peer; @stale: not to be answered, so the next one follows at once */
	const struct message { uint64_t number, lap; bool stale; } *messages;
	unsigned int told, message_count;
	uint64_t answered[LAPS_MAX];
	unsigned int answers;
};

static struct world *the;

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct queue *q = the->queue;

	(void)n;
	if (cq >= the->send && cq < the->send + QPS) {
		*wc = (struct ibv_wc){ .status = IBV_WC_SUCCESS };
		return 1;
	}
	q += cq - the->recv;
	if (!q->count)
		return 0;
	*wc = q->wc[0];
	memmove(&q->wc[0], &q->wc[1], --q->count * sizeof(q->wc[0]));
	return 1;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	*bad = NULL;
	for (; wr; wr = wr->next)
		the->reposted++;
	return 0;
}

/* A message of @number arrives on a lane. */
static void arrive(unsigned int lane, uint64_t number)
{
	struct queue *q = &the->queue[lane];

	if (the->r.marks)
		the->in[lane][the->r.mark.word / 8] = mark_word(&the->r.mark, number);
	else
		q->wc[q->count++] = (struct ibv_wc){ .wr_id = lane, .status = IBV_WC_SUCCESS,
						     .imm_data = htobe32((uint32_t)number) };
}

static uint64_t number_of(const struct lane *l)
{
	uint64_t word = the->out[l->index][the->r.mark.word / 8];

	if (!the->r.marks)
		return be32toh(l->wr.imm_data);
	return FIRST + (uint64_t)mark_ahead(&the->r.mark, word, FIRST);
}

static void tell_next(void)
{
	bool stale = true;

	for (; stale && the->told < the->message_count; the->told++) {
		const struct message *m = &the->messages[the->told];

		arrive(m->lap % QPS, m->number);
		stale = m->stale;
	}
}

/* The client's messages are answered as planted; the server's bring the next message. */
static int post(struct lane *l, uint64_t lap)
{
	enum fate fate = the->fates ? the->fates[lap] : LOST;
	uint64_t number = number_of(l);

	if (!the->fates) {
		the->answered[the->answers++] = number;
		tell_next();
		return 0;
	}
	if (the->held)
		arrive(the->held_lane, the->held);
	the->held = 0;
	if (fate == LATE) {
		the->held = number;
		the->held_lane = l->index;
	}
	if (fate == IN_TIME || fate == TWICE)
		arrive(l->index, number);
	if (fate == TWICE)
		arrive(l->index, number);
	return 0;
}

#define LOOPS(name, sight)                                                                         \
	static int name##_client(struct lap_run *r)                                                \
	{                                                                                          \
		return pingpong_client(r, sight, RECORD_STAMPS, CLOCK_SRC_GETTIME);                \
	}                                                                                          \
	static int name##_server(struct lap_run *r)                                                \
	{                                                                                          \
		return pingpong_server(r, sight, RECORD_STAMPS, CLOCK_SRC_GETTIME);                \
	}                                                                                          \
	static const struct lap_loops name = {                                                     \
		.by = { { { [CLOCK_SRC_GETTIME] = name##_client } },                               \
			{ { [CLOCK_SRC_GETTIME] = name##_server } } }                              \
	};
LOOPS(by_number, SEE_LOSSY_COMPLETION)
LOOPS(by_mark, SEE_LOSSY_MEMORY)

static struct world *world_open(uint64_t laps, size_t size, bool marks)
{
	struct world *t = the = calloc(1, sizeof(*t));

	error_init(&t->err, "x");
	t->set.iters = laps;
	t->goal = (struct lap_goal){ .laps = laps, .timeout_tick = UINT64_MAX };
	assert_int_equal(lap_store_open(&t->store, &t->set, false, false, &t->err), 0);
	t->ctx.ops.poll_cq = poll_cq;
	t->ctx.ops.post_recv = post_recv;
	t->qp.context = &t->ctx;
	t->wait = (struct wait){ .loss_ns = NS_PER_MS, .run_deadline = DEADLINE_NEVER,
				 .err = &t->err };
	wait_init(&t->wait);
	t->r = (struct lap_run){ .lane = t->lanes, .mark = mark_of_size(size), .marks = marks,
				 .number = FIRST, .depth = 1, .recv_list = 1, .answers = 1,
				 .wait = &t->wait,
				 .loss = { .groups = t->cqs, .group_count = QPS } };
	for (unsigned int i = 0; i < QPS; i++) {
		t->send[i].context = t->recv[i].context = &t->ctx;
		t->cqs[i] = (struct endpoint_cqs){ .send = &t->send[i], .recv = &t->recv[i] };
		t->lanes[i] = (struct lane){ .next = &t->lanes[(i + 1) % QPS], .index = i,
					     .post = post, .cqs = &t->cqs[i], .qp = &t->qp,
					     .send = (char *)t->out[i], .recv = (char *)t->in[i] };
		t->in[i][t->r.mark.word / 8] = mark_word(&t->r.mark, FIRST - 1);
	}
	return t;
}

static void world_close(struct world *t)
{
	lap_store_close(&t->store);
	error_free(&t->err);
	free(t);
}

/* A size of marks: of 8 bytes, and of one, whose numbers come again after 256. */
static const struct {
	size_t size;
	bool marks;
} ways[] = { { 8, false }, { 8, true }, { 9, true } };

static const struct lap_loops *loops_of(bool marks)
{
	return marks ? &by_mark : &by_number;
}

static const struct {
	enum fate fates[8];
	uint64_t lost, late;
} clients[] = {
	{ { IN_TIME }, 0, 0 },
	{ { IN_TIME, LOST }, 1, 0 },
	{ { LOST, LOST, LOST, IN_TIME, LOST, LOST, LOST, LOST }, 7, 0 },
	{ { TWICE, IN_TIME, TWICE, TWICE }, 0, 0 },
	{ { IN_TIME, LATE }, 0, 1 },
	{ { LATE, IN_TIME, LOST, LATE, LOST, TWICE, LATE, IN_TIME }, 2, 3 },
};

static uint64_t given_up(const struct world *t, uint64_t laps)
{
	uint64_t n = 0;

	for (uint64_t k = 0; k < laps; k++)
		n += (t->r.post[k] & LAP_LOST) != 0;
	return n;
}

/* Each lap is in time, lost or late, and the number goes on by two after one that was given up. */
static void test_client(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(clients) * COUNT(ways); i++) {
		size_t row = i / COUNT(ways), way = i % COUNT(ways);
		struct world *t = world_open(8, ways[way].size, ways[way].marks);
		uint64_t late = clients[row].late, gone = clients[row].lost + late;

		t->fates = clients[row].fates;
		laps_run_client(&t->r, &t->store, loops_of(ways[way].marks), CLOCK_SRC_GETTIME,
				&t->goal, &t->res);
		assert_int_equal(t->wait.end, WAIT_OK);
		assert_int_equal(given_up(t, 8), gone);
		/* A word of memory holds the next answer by then. */
		assert_int_equal(t->r.late, ways[way].marks ? 0 : late);
		assert_int_equal(t->r.lost, gone - t->r.late);
		assert_int_equal(t->r.number, FIRST + gone);
		assert_int_equal(t->r.laps, 8);
		assert_ptr_equal(t->r.lane, t->lanes);
		world_close(t);
	}
}

/* An answer to the last lap is waited for; one of the warm-up changes nothing. */
static void test_last_lap(void **state)
{
	static const enum fate fates[] = { IN_TIME, IN_TIME, LATE, IN_TIME };
	struct world *t = world_open(3, 8, false);

	(void)state;
	t->fates = fates;
	laps_run_client(&t->r, &t->store, &by_number, CLOCK_SRC_GETTIME, &t->goal, &t->res);
	assert_int_equal(t->r.lost, 1);
	arrive(2, t->held);
	t->r.loss.open[0] = (struct lap_open){ (uint32_t)t->held, 1 };
	t->r.loss.open_count = 1;
	laps_wait_for_late(&t->r);
	assert_int_equal(t->r.lost, 0);
	assert_int_equal(t->r.late, 1);
	assert_int_equal(t->r.loss.open_count, 0);
	world_close(t);
}

/* In memory it is waited for at once, as long again. */
static void test_late_in_memory(void **state)
{
	struct world *t = world_open(3, 8, true);

	(void)state;
	t->r.laps = 1;
	t->r.lane = &t->lanes[1];
	t->r.post = t->store.post.v;
	arrive(1, FIRST + 1);
	assert_int_equal(laps_give_up(&t->r, RECORD_STAMPS), 0);
	assert_int_equal(t->r.late, 1);
	assert_int_equal(t->r.lost, 0);
	assert_int_equal(t->r.number, FIRST + 1);
	world_close(t);
}

#define NEW(k, lap) { FIRST + (k), lap, false }
#define OLD(k, lap) { FIRST + (k), lap, true }

/*
 * What a server is told, number by number, and the laps of its stamps: '.' a sample begins, 'L' an
 * answer whose sample ends with the client's wait, 'M' a message that never came.
 */
static const struct {
	struct message messages[6];
	const char *laps;
} servers[] = {
	{ { NEW(0, 0), NEW(1, 1), NEW(2, 2), NEW(3, 3) }, "...." },
	{ { NEW(0, 0), NEW(1, 1), NEW(3, 2), NEW(4, 3) }, ".L.." },	/* answer 1 */
	{ { NEW(0, 0), NEW(1, 1), NEW(4, 3), NEW(5, 4) }, ".LM.." },	/* message 2 */
	{ { NEW(0, 0), NEW(5, 3), NEW(6, 4) }, "LMM.." },	/* answer 0, messages 1, 2 */
	{ { NEW(0, 0), NEW(9, 5), NEW(10, 6) }, "LMMMM.." },	/* on the lane that waits */
	{ { NEW(2, 1), NEW(3, 2) }, "M.." },
	{ { NEW(0, 0), OLD(0, 1), NEW(1, 1) }, ".." },		/* twice */
	{ { NEW(0, 0), NEW(4, 2), OLD(2, 3), NEW(5, 3) }, "LM.." }, /* overtaken */
	{ { NEW(0, 0), OLD(40, 1), NEW(1, 1) }, ".." },		/* no such lap */
};

static unsigned int count_messages(const struct message *m)
{
	unsigned int n = 0;

	while (n < 6 && m[n].number)
		n++;
	return n;
}

static char what_of(uint64_t stamp)
{
	return stamp == LAP_LOST ? 'M' : stamp & LAP_LOST ? 'L' : '.';
}

static void test_server(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(servers) * COUNT(ways); i++) {
		size_t row = i / COUNT(ways), way = i % COUNT(ways);
		size_t laps = strlen(servers[row].laps);
		struct world *t;
		unsigned int n = count_messages(servers[row].messages);

		t = world_open(8, ways[way].size, ways[way].marks);
		t->goal.laps = laps;
		t->messages = servers[row].messages;
		t->message_count = n;
		t->wait.loss_ns = 0;
		tell_next();
		laps_run_server(&t->r, &t->store, loops_of(ways[way].marks), CLOCK_SRC_GETTIME,
				&t->goal);
		assert_int_equal(t->r.laps, laps);
		for (size_t k = 0; k < laps; k++)
			assert_int_equal(what_of(t->r.post[k]), servers[row].laps[k]);
		assert_int_equal(t->answered[t->answers - 1],
				 ways[way].marks ? t->messages[n - 1].number :
						   (uint32_t)t->messages[n - 1].number);
		assert_int_equal(laps_result_server(&t->r, &t->store, laps, 0, &t->res, &t->err),
				 0);
		assert_int_equal(t->res.laps, t->answers);
		world_close(t);
	}
}

/* A receive of a message that is not awaited is posted again like any other. */
static void test_receives(void **state)
{
	static const enum fate fates[] = { TWICE, TWICE, TWICE, LATE, IN_TIME };
	struct world *t = world_open(5, 8, false);
	unsigned int waiting = 0;

	(void)state;
	t->fates = fates;
	laps_run_client(&t->r, &t->store, &by_number, CLOCK_SRC_GETTIME, &t->goal, &t->res);
	for (unsigned int i = 0; i < QPS; i++)
		waiting += t->lanes[i].consumed + t->queue[i].count;
	assert_int_equal(t->reposted + waiting, 8);
	world_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),	   cmocka_unit_test(test_last_lap),
		cmocka_unit_test(test_late_in_memory), cmocka_unit_test(test_server),
		cmocka_unit_test(test_receives),
	};

	return cmocka_run_group_tests_name("laps_number", tests, NULL, NULL);
}
