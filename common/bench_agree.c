/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hello, plan and endpoints: what the two ends tell each other before anything is posted. */
#include "bench_state.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cycles_json.h"
#include "frame.h"
#include "json_text.h"
#include "plan.h"
#include "stream.h"

static json_t *hello(const struct bench *b)
{
	json_t *m = control_message("hello");

	json_object_set_new(m, "protocol", json_integer(PROTOCOL));
	json_object_set_new(m, "program", json_string(b->program->options.name));
	json_object_set_new(m, "release", json_string(VERBSPERF_VERSION));
	json_object_set_new(m, "features", json_array());
	json_object_set_new(m, "boot_id", json_string(b->boot_id));
	json_object_set_new(m, "candidates", candidates_to_json(&b->devices.list));
	return m;
}

/* Protocol and program of the other end; the error is misuse, for both. */
static int check_hello(const struct bench *b, json_t *m, struct error *err)
{
	const char *program = json_string_value(json_object_get(m, "program"));
	const char *release = json_string_value(json_object_get(m, "release"));
	json_t *protocol = json_object_get(m, "protocol");
	const char *ours = b->server ? "server" : "client", *theirs = b->server ? "client" : "server";
	char clean[64], clean_release[32];

	if (!json_is_integer(protocol) || !program || !release)
		return error_set(err, EXIT_PEER, EPROTO, "a hello without protocol, program, release");
	error_sanitise(clean, sizeof(clean), program, strlen(program));
	error_sanitise(clean_release, sizeof(clean_release), release, strlen(release));
	if (json_integer_value(protocol) != PROTOCOL)
		return error_set(err, EXIT_MISUSE, 0,
				 "protocol %d (release %s) on the %s and %lld (release %s) on the %s; "
				 "install the same release on both", PROTOCOL, VERBSPERF_VERSION, ours,
				 (long long)json_integer_value(protocol), clean_release, theirs);
	if (strcmp(program, b->program->options.name))
		return error_set(err, EXIT_MISUSE, 0, "the %s runs %s, the %s %s", ours,
				 b->program->options.name, theirs, clean);
	return 0;
}

static int take_hello(struct bench *b, json_t *m, struct error *err)
{
	const char *boot_id = json_string_value(json_object_get(m, "boot_id"));

	if (check_hello(b, m, err))
		return -1;
	snprintf(b->peer_boot_id, sizeof(b->peer_boot_id), "%s", boot_id ? boot_id : "");
	candidates_free(&b->remote_ports);
	if (candidates_from_json(json_object_get(m, "candidates"), &b->remote_ports))
		return error_set(err, EXIT_PEER, EPROTO, "a hello with candidates that make no sense");
	return 0;
}

/* Memory that this end needs, compared with what there is before anything is promised. */
static int check_memory(const struct bench *b, struct error *err)
{
	uint64_t need = b->program->bandwidth ? stream_memory(&b->set, op_get(op_choose(b->program->family, &b->set))) :
						plan_memory(&b->set, bench_dumps(b));
	uint64_t there = memory_available("");

	if (!there || need <= there)
		return 0;
	return error_set(err, EXIT_MISUSE, 0,
			 "the run needs %llu MiB of memory for samples and buffers on the %s, which "
			 "has %llu MiB; fewer --iters or a smaller --size", (unsigned long long)need >> 20,
			 b->server ? "server" : "client", (unsigned long long)there >> 20);
}

static json_t *cpu_json(const struct bench *b)
{
	return b->cpu.cpu >= 0 ? json_integer(b->cpu.cpu) : json_null();
}

static int take_peer_cpu(json_t *v)
{
	return json_is_integer(v) && json_integer_value(v) < CPU_SETSIZE ?
		       (int)json_integer_value(v) : -1;
}

/* Another receiver of --mcast is reached from the port and GID that the first one is. */
static int pick_again(struct bench *b)
{
	struct candidate_list one = { &b->devices.list.v[b->pair.client.candidate], 1 };
	struct candidate_pair pair;
	char why[256];

	if (candidate_pick(&one, &b->remote_ports, b->set.pkey, &pair, why, sizeof(why)))
		return error_set(b->err, EXIT_MISUSE, 0, "%s: %s", b->host, why);
	if (pair.client.gid != b->pair.client.gid ||
	    pair.client.pkey_index != b->pair.client.pkey_index)
		return error_set(b->err, EXIT_MISUSE, 0,
				 "%s is reached from another GID or P_Key than the first host; choose "
				 "one by --gid-index or --pkey", b->host);
	b->pair.server = pair.server;
	return 0;
}

static int pick_pair(struct bench *b)
{
	char why[256];

	if (b->turn)
		return pick_again(b);
	if (b->set.rdma_cm || b->set.path_record)
		return bench_cm_pick(b);
	if (candidate_pick(&b->devices.list, &b->remote_ports, b->set.pkey, &b->pair, why,
			   sizeof(why)))
		return error_set(b->err, EXIT_MISUSE, 0, "%s", why);
	return 0;
}

static int client_pick(struct bench *b)
{
	if (pick_pair(b) || bench_use_pair(b) || check_memory(b, b->err))
		return -1;
	b->peer_cpu = -1;
	return bench_choose_cpu(b);
}

static json_t *plan_message(const struct bench *b)
{
	json_t *m = control_message("plan");

	json_object_set_new(m, "options", plan_to_json(&b->program->options, &b->set));
	json_object_set_new(m, "client", candidate_choice_to_json(&b->devices.list, &b->pair.client));
	json_object_set_new(m, "server", candidate_choice_to_json(&b->remote_ports, &b->pair.server));
	json_object_set_new(m, "cpu", json_string(b->set.cpu));
	json_object_set_new(m, "cpu_given", json_boolean(option_given(&b->set, "cpu")));
	json_object_set_new(m, "client_cpu", cpu_json(b));
	json_object_set_new(m, "dump", json_boolean(b->set.dump != NULL));
	if (b->set.path_record)
		json_object_set_new(m, "path_record", cm_record_to_json(&b->by_cm.record));
	return m;
}

int bench_client_agree(struct bench *b)
{
	uint64_t deadline = bench_stage(b, "hello");
	json_t *m;
	int rc;

	b->control.max = FRAME_PEER_MAX;
	if (control_send(&b->control, hello(b), deadline, b->err))
		return -1;
	m = control_recv(&b->control, "hello", deadline, b->err);
	if (!m)
		return -1;
	rc = take_hello(b, m, b->err);
	json_decref(m);
	deadline = bench_stage(b, "plan");
	if (rc || client_pick(b) || control_send(&b->control, plan_message(b), deadline, b->err))
		return -1;
	m = control_recv(&b->control, "accept", deadline, b->err);
	if (!m)
		return -1;
	rc = bench_cm_take_accept(b, m);
	b->peer_cpu = take_peer_cpu(json_object_get(m, "cpu"));
	if (json_is_true(json_object_get(m, "shared")))
		b->yield = true;
	b->dump_peer = json_is_true(json_object_get(m, "dump"));
	json_decref(m);
	return rc;
}

/* -T: the client sets both ends; a server's own is taken where the client gave none. */
static int take_cpu_plan(struct bench *b, json_t *m, struct error *err)
{
	const char *text = json_string_value(json_object_get(m, "cpu"));
	bool given = json_is_true(json_object_get(m, "cpu_given"));
	bool ours = option_given(&b->set, "cpu");

	if (!text || strlen(text) > 255)
		return error_set(err, EXIT_PEER, EPROTO, "a plan without cpu");
	if (given && ours && strcmp(text, b->set.cpu)) {
		char clean[64];

		error_sanitise(clean, sizeof(clean), text, strlen(text));
		return error_set(err, EXIT_MISUSE, 0, "the options differ: cpu: client %s, server %s",
				 clean, b->set.cpu);
	}
	if (cpu_wish_parse(ours && !given ? b->set.cpu : text, 1, &b->cpu_wish))
		return error_set(err, EXIT_PEER, EPROTO, "a plan with a cpu that makes no sense");
	b->peer_cpu = take_peer_cpu(json_object_get(m, "client_cpu"));
	return bench_choose_cpu(b);
}

/* Everything in a plan, in the order in which a user wants to hear of it. */
static int take_plan(struct bench *b, struct control *c, json_t *m, struct error *err)
{
	char why[768];
	int rc = plan_apply(&b->program->options, json_object_get(m, "options"), &b->set, why,
			    sizeof(why));

	if (rc == -EINVAL)
		return error_set(err, EXIT_PEER, EPROTO, "a plan with a bad value for %s", why);
	if (rc)
		return error_set(err, EXIT_MISUSE, 0, "the options differ: %s", why);
	if (candidate_choice_from_json(json_object_get(m, "client"), &b->remote_ports,
				       &b->pair.client) ||
	    candidate_choice_from_json(json_object_get(m, "server"), &b->devices.list,
				       &b->pair.server))
		return error_set(err, EXIT_PEER, EPROTO, "a plan for devices that are not there");
	if (candidate_check(&b->remote_ports, &b->devices.list, &b->pair))
		return error_set(err, EXIT_PEER, EPROTO, "a plan for ports that cannot talk");
	if (op_check(b->program->family, b->program->bandwidth, &b->set, why, sizeof(why)))
		return error_set(err, EXIT_PEER, EPROTO, "a plan that cannot be: %s", why);
	b->dump_peer = json_is_true(json_object_get(m, "dump"));
	if (plan_dump_too_long(&b->set))
		return error_set(err, EXIT_MISUSE, 0,
				 "the server's -U, -H or --dump keeps at most %llu samples, and the client asks "
				 "for more laps", PLAN_SAMPLES_MAX);
	if (check_memory(b, err))
		return -1;
	return take_cpu_plan(b, m, err) || bench_cm_take_plan(b, c, m, err) ? -1 : 0;
}

static int send_accept(struct bench *b, struct control *c, struct error *err)
{
	json_t *m = control_message("accept");

	json_object_set_new(m, "cpu", cpu_json(b));
	json_object_set_new(m, "shared", json_boolean(b->yield));
	json_object_set_new(m, "dump", json_boolean(b->set.dump != NULL));
	if (b->set.rdma_cm)
		json_object_set_new(m, "rdma_cm", cm_offer_to_json(&b->by_cm.cm.offer));
	return control_send(c, m, deadline_in(NS_PER_S), err);
}

/* Judges the hello (step 0) and the plan (step 1) of whoever connected. */
static enum stranger_verdict judge(void *arg, struct control *c, int step, json_t *m,
				   struct error *err)
{
	struct bench *b = arg;
	const char *type = json_string_value(json_object_get(m, "type"));
	struct settings before = b->set;
	struct error *session = b->err;
	int rc;

	if (strcmp(type, step == 0 ? "hello" : "plan")) {
		error_set(err, EXIT_PEER, EPROTO, "sent %.16s first", step ? "no plan" : "no hello");
		return STRANGER_DROP;
	}
	if (step == 0) {
		if (!check_hello(b, m, err) && !control_send(c, hello(b), deadline_in(NS_PER_S), err))
			c->hello = json_incref(m);
		else
			control_abort(c, err);
		return error_is_set(err) ? STRANGER_DROP : STRANGER_WAIT;
	}
	err->stage = "plan";
	b->err = err;
	rc = take_hello(b, c->hello, err) || take_plan(b, c, m, err) || send_accept(b, c, err);
	b->err = session;
	if (!rc)
		return STRANGER_ACCEPT;
	b->set = before;
	bench_cm_close(b, false);
	control_abort(c, err);
	return err->code == EXIT_MISUSE ? STRANGER_REFUSE : STRANGER_DROP;
}

int bench_server_agree(struct bench *b)
{
	b->err->stage = "listen";
	if (listener_accept(b->listener, judge, b, b->deadline, &b->control, b->err))
		return -1;
	b->control.max = FRAME_PEER_MAX;
	b->err->stage = "plan";
	return bench_use_pair(b);
}

/* Of --hw-timestamps; null where the device has no clock. */
static json_t *device_clock(const struct bench *b)
{
	struct ibv_device_attr_ex attr;

	if (ibv_query_device_ex(bench_context(b), NULL, &attr) || !attr.hca_core_clock)
		return json_null();
	return json_integer((json_int_t)attr.hca_core_clock);
}

/* Facts of this end, for its own report and the peer's. */
static json_t *bench_facts_json(const struct bench *b)
{
	const struct candidate *port = bench_port(b);
	const struct device_facts *f = &b->facts;
	char host[256] = "?", gid[GID_TEXT_MAX];
	json_t *o = json_object();
	struct utsname kernel;

	gethostname(host, sizeof(host) - 1);
	json_object_set_new(o, "host", json_text(host));
	json_object_set_new(o, "kernel", json_text(uname(&kernel) ? "?" : kernel.release));
	json_object_set_new(o, "device", json_text(f->name));
	json_object_set_new(o, "firmware", json_text(f->firmware));
	json_object_set_new(o, "software", f->software ? json_string(f->software) : json_null());
	json_object_set_new(o, "device_clock_khz", device_clock(b));
	json_object_set_new(o, "port", json_integer(port->port));
	json_object_set_new(o, "link_layer", json_string(candidate_link_name(port->link)));
	json_object_set_new(o, "mtu", json_integer(port->mtu));
	json_object_set_new(o, "lid", json_integer(port->lid));
	if (b->local.has_gid)
		gid_text(&b->local.gid.gid, gid);
	json_object_set_new(o, "gid", b->local.has_gid ? json_string(gid) : json_null());
	json_object_set_new(o, "gid_index", b->local.has_gid ?
						    json_integer(b->local.gid.index) : json_null());
	json_object_set_new(o, "gid_type", b->local.has_gid ?
				json_string(gid_type_name(b->local.gid.type)) : json_null());
	if (b->set.path_record)
		json_object_set_new(o, "path_record", cm_record_to_json(&b->by_cm.record));
	json_object_set_new(o, "cpu", cpu_json(b));
	json_object_set_new(o, "numa_node", f->numa_node >= 0 ? json_integer(f->numa_node) :
							       json_null());
	json_object_set_new(o, "clock", clock_cert_json(&b->cert));
	return o;
}

static int take_endpoints(struct bench *b, json_t *m)
{
	int rc = endpoint_address_from_json(json_object_get(m, "address"), bench_qps(b), &b->remote);

	if (rc)
		return error_set(b->err, EXIT_PEER, -rc, "the peer's endpoints make no sense");
	b->remote_facts = json_incref(json_object_get(m, "facts"));
	return 0;
}

/* All QPs in one frame each way; the client's goes first. */
int bench_exchange_endpoints(struct bench *b, void *arg)
{
	uint64_t deadline = bench_stage(b, "endpoints"), start = now_ns();
	json_t *ours = control_message("endpoints"), *m;
	int rc;

	(void)arg;
	if (!b->local_facts)
		b->local_facts = bench_facts_json(b);
	json_object_set_new(ours, "address", endpoint_address_to_json(&b->local));
	json_object_set(ours, "facts", b->local_facts);
	if (!b->server && control_send(&b->control, ours, deadline, b->err))
		return -1;
	m = control_recv(&b->control, "endpoints", deadline, b->err);
	rc = m ? take_endpoints(b, m) : -1;
	json_decref(m);
	if (b->server && rc)
		json_decref(ours);
	else if (b->server)
		rc = control_send(&b->control, ours, deadline, b->err);
	b->setup.exchange_usec = (double)(now_ns() - start) / 1e3;
	return rc;
}
