/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The order of a run. */
#include "bench_peers.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"

uint64_t bench_stage(struct bench *b, const char *name)
{
	b->err->stage = name;
	if (b->set.verbose)
		error_note(b->err, "stage %s", name);
	return deadline_min(deadline_in(STAGE_NS), b->deadline);
}

void bench_passed(const char *name)
{
	if (bench_stage_hook)
		bench_stage_hook(name);
}

static void show_addresses(const struct bench *b)
{
	if (bench_stdout_taken(b))
		return;
	report_addresses(stdout, &b->local, &b->remote);
	fflush(stdout);
}

static int connect_to_server(struct bench *b)
{
	struct control_where w = { b->host, b->set.bind, (uint16_t)b->set.port, b->set.ipv4,
				   b->set.ipv6 };

	bench_stage(b, "connect");
	return control_connect(&b->control, &w,
			       deadline_min(deadline_in(b->set.connect_timeout_ns), b->deadline),
			       b->err);
}

/* Listens once the devices are there; with --keep the first session's socket goes on. */
static int listen_for_clients(struct bench *b)
{
	struct control_where w = { NULL, b->set.bind, (uint16_t)b->set.port, b->set.ipv4,
				   b->set.ipv6 };

	b->err->stage = "listen";
	return b->listener->fd >= 0 ? 0 : listener_open(b->listener, &w, b->err);
}

static int agree_with_server(struct bench *b, void *arg)
{
	(void)arg;
	return connect_to_server(b) ? -1 : bench_client_agree(b);
}

static int agree(struct bench *b)
{
	if (b->server)
		return listen_for_clients(b) ? -1 : bench_server_agree(b);
	return bench_peers_open(b) ? -1 : bench_each_peer(b, agree_with_server, NULL);
}

/* The whole of it. What fails on the way leaves the rest undone; close_session() takes it all. */
static int run_session(struct bench *b)
{
	if (bench_open_devices(b) || agree(b))
		return -1;
	bench_passed("plan");
	if (bench_allocate(b) || bench_open_endpoint(b) ||
	    bench_each_peer(b, bench_exchange_endpoints, NULL))
		return -1;
	bench_passed("endpoints");
	show_addresses(b);
	if (bench_connect_qps(b))
		return -1;
	if (b->set.duration_ns >= 2 * NS_PER_S && isatty(STDERR_FILENO))
		error_note(b->err, "measuring for %.1f s%s", (double)b->set.duration_ns / 1e9,
			   b->set.sizes.count > 1 ? " each size" : "");
	return bench_run_all(b);
}

/* A run by time may end at any time; one by laps was cut short. */
static void judge_interruption(struct bench *b)
{
	if (!b->interrupted || b->set.duration_ns)
		return;
	error_set(b->err, EXIT_PEER, 0, "the run was %s before its last lap",
		  stop_signal ? "ended by a signal" : "ended by the peer's user");
}

static int abort_run(struct bench *b, void *arg)
{
	(void)arg;
	control_abort(&b->control, b->err);
	return 0;
}

static void close_session(struct bench *b)
{
	struct error *err = b->err;
	struct endpoint shown;

	judge_interruption(b);
	if (error_is_set(err) && (!err->from_peer || b->other_count))
		bench_each_peer(b, abort_run, NULL);
	bench_cm_close(b, !error_is_set(err));
	control_close(&b->control);
	shown = b->endpoint;
	mcast_close(&b->mcast, err);
	endpoint_close(&b->endpoint, err);
	free(b->lanes);
	device_close_others(&b->devices, -1, err);
	bench_report(b, &shown);
	error_print(err);
	for (unsigned int i = 0; i < b->result_count && bench_keeps_copies(b); i++) {
		free(b->results[i].sample);
		free(b->results[i].to_seen);
		free(b->results[i].gap);
	}
	bench_stream_close(b);
	bench_dump_close(b);
	for (unsigned int i = 0; i < b->result_count; i++)
		free(b->results[i].worst);
	free(b->results);
	lap_store_close(&b->store);
	endpoint_address_free(&b->local);
	endpoint_address_free(&b->remote);
	candidates_free(&b->remote_ports);
	bench_peers_close(b);
	json_decref(b->local_facts);
	json_decref(b->remote_facts);
	json_decref(b->local_counters);
	json_decref(b->remote_counters);
}

static struct bench *new_session(const struct bench_program *p, const struct settings *s,
				 struct listener *l, struct error *err)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b) {
		error_set(err, EXIT_FAILED, ENOMEM, "starting");
		return NULL;
	}
	b->program = p;
	b->set = *s;
	b->err = err;
	b->server = !s->host;
	b->listener = l;
	b->deadline = deadline_in(s->timeout_ns);
	b->peer_cpu = -1;
	b->setup = (struct report_setup){ NAN, NAN, NAN, NAN, NAN };
	clock_source_parse(s->clock ? "gettime" : "tsc", &b->clock);
	cpu_wish_parse(s->cpu, 0, &b->cpu_wish);
	cpu_boot_id("", b->boot_id);
	report_time(b->time);
	control_init(&b->control);
	return b;
}

/* One client, or as a client. */
static enum exit_code session(const struct bench_program *p, const struct settings *s,
			      struct listener *l)
{
	struct error err;
	enum exit_code code;
	struct bench *b;

	error_init(&err, p->options.name);
	b = new_session(p, s, l, &err);
	if (b) {
		run_session(b);
		close_session(b);
	}
	code = err.code;
	free(b);
	error_free(&err);
	return code;
}

/* --keep: one client after the other, each from the CPUs that we started with. */
static enum exit_code serve(const struct bench_program *p, const struct settings *s)
{
	struct listener *l = malloc(sizeof(*l));
	enum exit_code code;
	bool up;
	cpu_set_t cpus;

	if (!l)
		return EXIT_FAILED;
	listener_init(l);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	do {
		code = session(p, s, l);
		up = l->fd >= 0;
		sched_setaffinity(0, sizeof(cpus), &cpus);
	} while (s->keep && up && !stop_signal);
	listener_close(l);
	free(l);
	return s->keep && up ? EXIT_OK : code;
}

static int validate(const struct bench_program *p, const struct settings *s, struct error *err)
{
	struct cpu_wish wish;
	char why[320];

	if (plan_validate(s, why, sizeof(why)) ||
	    op_check(p->family, p->bandwidth, s, why, sizeof(why)))
		return error_set(err, EXIT_MISUSE, 0, "%s", why);
	if (cpu_wish_parse(s->cpu, 0, &wish) || cpu_wish_parse(s->cpu, 1, &wish))
		return error_set(err, EXIT_MISUSE, 0,
				 "--cpu %s: allowed is L,R, each a CPU number, a range (2-5), a list "
				 "(0+2), nodeN, auto or none", s->cpu);
	if (bench_check_expect(p, s, err))
		return -1;
	if (s->json && s->csv && !strcmp(s->json, "-") && !strcmp(s->csv, "-"))
		return error_set(err, EXIT_MISUSE, 0,
				 "--json and --csv both want stdout; give one a file (--csv=FILE)");
	if (s->host && s->port == 0)
		return error_set(err, EXIT_MISUSE, 0,
				 "--port 0 is for servers; a client needs the port that the server said");
	if (s->host && s->keep)
		return error_set(err, EXIT_MISUSE, 0, "--keep is for servers; %s has a host",
				 p->options.name);
	if (s->ipv4 && s->ipv6)
		return error_set(err, EXIT_MISUSE, 0, "-4 and -6 exclude each other");
	return 0;
}

static enum exit_code run_program(const struct bench_program *p, const struct settings *s,
				  struct error *err)
{
	if (s->force)
		error_note(err, "-F is accepted and ignored: no CPU frequency is read here");
	return s->host ? session(p, s, NULL) : serve(p, s);
}

int bench_main(const struct bench_program *p, int argc, char **argv)
{
	struct settings s;
	struct error err;
	enum exit_code code;
	char more[32];

	snprintf(more, sizeof(more), ", protocol %d", PROTOCOL);
	setlocale(LC_NUMERIC, "C");
	error_init(&err, p->options.name);
	if (!options_parse(&p->options, argc, argv, &s, &err) && !options_answer(&p->options, &s, more) &&
	    !validate(p, &s, &err)) {
		plan_complete(&s);
		stop_install();
		code = run_program(p, &s, &err);
	} else {
		code = err.code;
	}
	error_print(&err);
	error_free(&err);
	return code;
}
