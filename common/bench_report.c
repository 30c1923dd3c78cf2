/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is said at the end: warnings, the table, CSV, JSON, and whether it was as expected. */
#include "bench_peers.h"

#include <stdlib.h>

#include "expect.h"
#include "output.h"

static void write_table(const char *path, void (*print)(FILE *out, const struct report *r),
			const struct report *r, struct error *err)
{
	struct output o;

	if (output_open(&o, path, err))
		return;
	print(o.f, r);
	output_close(&o, err);
}

static void warn_of_clock(struct bench *b)
{
	unsigned int rows;

	bench_stream_rows(b, &rows);
	if (!(b->cert.hz > 0) || !(b->result_count + rows))
		return;
	if (!b->cert.trusted)
		error_warn(b->err, "the clock %s is not to be trusted (%s): usec may be wrong, see "
			   "clock_test", b->cert.name, b->cert.why);
	for (unsigned int i = 0; i < b->result_count; i++) {
		const struct lap_result *res = &b->results[i];
		double step = b->cert.resolution_ns * b->cert.hz / 1e9;

		if (res->samples && step > 0.01 * res->stats.median * latency_factor(bench_kind(b)))
			error_warn(b->err, "the clock steps by %.0f ns, over 1 %% of the median",
				   b->cert.resolution_ns);
	}
}

int bench_check_expect(const struct bench_program *p, const struct settings *s, struct error *err)
{
	const struct report r = {
		.bandwidth = p->bandwidth,
		.clock = &(struct clock_cert){ .hz = 0 },
		.endpoint = &(struct endpoint){ .in_order = -1 },
	};
	json_t *keys = report_no_result(&r);
	struct expect e;
	char why[320];

	for (unsigned int i = 0; i < s->expect.count && !error_is_set(err); i++) {
		const char *text = s->expect.v[i];

		if (expect_read(text, &e, why, sizeof(why)))
			error_set(err, EXIT_MISUSE, 0, "--expect %s: allowed is %s", text, why);
		else if (!expect_is_figure(&e, keys))
			error_set(err, EXIT_MISUSE, 0, "--expect %s: %s has no figure %s; JSON KEYS "
				  "in the manual page (--man) has those of a result", text,
				  p->options.name, e.key);
	}
	json_decref(keys);
	return error_is_set(err) ? -1 : 0;
}

/* Every result must meet every expectation; one line each where not. */
static void judge(const struct report *r, const struct settings *s, struct error *err)
{
	json_t *results = report_results(r), *result;
	unsigned int missed = 0;
	char why[160];
	size_t i;

	for (unsigned int k = 0; k < s->expect.count; k++) {
		struct expect e;

		expect_read(s->expect.v[k], &e, why, sizeof(why));
		json_array_foreach(results, i, result) {
			if (!expect_met(&e, result, why, sizeof(why)))
				continue;
			missed++;
			error_warn(err, "expected %s: %s (%lld bytes)", e.text, why,
				   (long long)json_integer_value(json_object_get(result, "size")));
		}
	}
	if (missed)
		error_set(err, EXIT_EXPECT, 0, "%u %s not met", missed,
			  missed == 1 ? "expectation was" : "expectations were");
	json_decref(results);
}

void bench_report(struct bench *b, const struct endpoint *shown)
{
	const struct settings *s = &b->set;
	unsigned int receiver_count;
	struct report_receiver *receivers = bench_receivers(b, &receiver_count);
	struct report r = {
		.program = &b->program->options,
		.settings = s,
		.op = op_choose(b->program->family, s),
		.operation = op_get(op_choose(b->program->family, s))->name,
		.server = b->server,
		.bandwidth = b->program->bandwidth,
		.paced = bench_paced(b),
		.kind = bench_kind(b),
		.local = b->local_facts,
		.remote = b->remote_facts,
		.clock = &b->cert,
		.endpoint = shown,
		.mtu = b->path.mtu,
		.grh = b->path.gid_index >= 0,
		.setup = b->setup,
		.receivers = receivers,
		.receiver_count = receiver_count,
		.sent = b->sent,
		.local_counters = b->local_counters,
		.remote_counters = b->remote_counters,
		.floor = b->floor,
		.runs = b->summaries,
		.runs_count = b->summary_count,
		.results = b->results,
		.result_count = b->result_count,
		.err = b->err,
	};

	r.bw = bench_stream_rows(b, &r.bw_count);
	memcpy(r.time, b->time, sizeof(r.time));
	warn_of_clock(b);
	if (!bench_stdout_taken(b) && (b->result_count || r.bw_count))
		write_table("-", report_text, &r, b->err);
	/* Behind the result that they speak of. */
	bench_warn_of_runs(b);
	if (!error_is_set(b->err))
		judge(&r, s, b->err);
	bench_dump_write(b);
	if (s->csv)
		write_table(s->csv, report_csv, &r, b->err);
	if (s->json) {
		json_t *doc = report_json(&r);

		output_json(s->json, doc, b->err);
		json_decref(doc);
	}
	free(receivers);
}
