// One fault, all collectors, in the order that lets each do its work: the agent needs the target running, native unwinding stops it
// for a moment, cuda-gdb comes last because there can be only one tracer and because it decides how the target goes on.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "collect/collect_priv.h"

#include <fcntl.h>
#include <string.h>

#include "agent/agent.h"
#include "hoststack/hoststack.h"

// Shares of the whole deadline. The GPU's share is what is left.
enum { AGENT_MS = 1500, TENSORS_MS = 1000, NATIVE_MS = 6000 };

struct stacks {
	struct ct_python_stacks agent, walk;
	bool has_agent, has_walk, no_python;
};

static double ms_since(int64_t start_us)
{
	return (double)(ct_now_us() - start_us) / 1000;
}

static int64_t share(const struct ct_collect_job *job, int64_t ms)
{
	int64_t until = ct_now_us() + ms * 1000;
	return until < job->deadline_us ? until : job->deadline_us;
}

static const char *with_hint(struct ct_incident *incident, const struct ct_error *err)
{
	return err->hint[0] ? ct_arena_printf(&incident->arena, "%s (%s)", err->text, err->hint) : err->text;
}

static void add_failure(struct ct_incident *incident, const char *name, int64_t start_us, const struct ct_error *err)
{
	enum ct_collector_status status = err->code == CT_TIMEOUT ? CT_COLLECTOR_TIMED_OUT : err->code == CT_UNAVAILABLE ? CT_COLLECTOR_SKIPPED : CT_COLLECTOR_FAILED;
	ct_incident_add_collector(incident, name, status, ms_since(start_us), with_hint(incident, err));
}

static bool has_row(const struct ct_incident *incident, const char *name)
{
	for (size_t i = 0; i < incident->n_collectors; i++)
		if (strcmp(incident->collectors[i].name, name) == 0)
			return true;
	return false;
}

static bool has_progress(const struct ct_incident *incident, const char *name)
{
	for (size_t i = 0; i < incident->n_progress; i++)
		if (strcmp(incident->progress[i].name, name) == 0)
			return true;
	return false;
}

static void ask_agent(const struct ct_collect_job *job, struct ct_incident *incident, struct stacks *s)
{
	int64_t start = ct_now_us();
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	if (!job->agent_dir)
		ct_fail(&err, CT_UNAVAILABLE, "no agent in this run");
	else if (ct_agent_ask(job->agent_dir, job->pid, "stacks", share(job, AGENT_MS), &json, &err))
		s->has_agent = ct_hoststack_python_parse(&incident->arena, ct_str_text(&json), json.length, &s->agent, &err);
	if (!s->has_agent && !s->has_walk && s->no_python)
		return;
	if (s->has_agent)
		ct_incident_add_collector(incident, "python-agent", CT_COLLECTOR_OK, ms_since(start), NULL);
	else
		add_failure(incident, "python-agent", start, &err);
	// A plugin of ours has told already, and without the phase.
	if (s->has_agent && s->agent.test && !has_progress(incident, "test"))
		ct_incident_add_progress(incident, "test", s->agent.test);
}

// Only where the agent has answered already: one that is silent costs its share once.
static void ask_tensors(const struct ct_collect_job *job, struct ct_incident *incident)
{
	int64_t start = ct_now_us();
	struct ct_error err = CT_ERROR_INIT;
	struct ct_tensors_about about;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	if (!ct_agent_ask(job->agent_dir, job->pid, "tensors", share(job, TENSORS_MS), &json, &err) ||
	    !ct_hoststack_tensors_parse(incident, ct_str_text(&json), json.length, &about, &err))
		add_failure(incident, "tensors", start, &err);
	else if (about.n_libraries)
		ct_incident_add_collector(incident, "tensors", about.missing ? CT_COLLECTOR_PARTIAL : CT_COLLECTOR_OK, ms_since(start), about.missing);
}

// Whether the detection that was asked for is on; asking switches it on where the agent had not come to it yet.
static void ask_anomaly(const struct ct_collect_job *job, struct ct_incident *incident)
{
	int64_t start = ct_now_us();
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	if (!ct_agent_ask(job->agent_dir, job->pid, "anomaly", share(job, TENSORS_MS), &json, &err))
		add_failure(incident, "anomaly", start, &err);
	else if (strstr(ct_str_text(&json), "\"anomaly\":\"on\""))
		ct_incident_add_collector(incident, "anomaly", CT_COLLECTOR_OK, ms_since(start), NULL);
	else
		ct_incident_add_collector(incident, "anomaly", CT_COLLECTOR_SKIPPED, ms_since(start), "PyTorch is not there, or has no such switch");
}

static void ask_python(const struct ct_collect_job *job, struct ct_incident *incident, struct stacks *s)
{
	ask_agent(job, incident, s);
	if (s->has_agent)
		ask_tensors(job, incident);
	if (s->has_agent && job->anomaly)
		ask_anomaly(job, incident);
}

static void walk_python(const struct ct_collect_job *job, struct ct_incident *incident, struct stacks *s)
{
	int64_t start = ct_now_us();
	struct ct_error err = CT_ERROR_INIT;
	s->has_walk = ct_hoststack_python_walk(&incident->arena, job->pid, &s->walk, &err);
	s->no_python = !s->has_walk && err.code == CT_NOT_FOUND;
	if (s->no_python)
		return;  // no Python in this process: nothing is missing
	if (s->has_walk)
		ct_incident_add_collector(incident, "python-walk", CT_COLLECTOR_OK, ms_since(start), NULL);
	else
		add_failure(incident, "python-walk", start, &err);
}

static void unwind_native(const struct ct_collect_job *job, struct ct_incident *incident)
{
	int64_t start = ct_now_us();
	struct ct_error err = CT_ERROR_INIT;
	if (ct_hoststack_native(incident, job->pid, share(job, NATIVE_MS), job->core, &err))
		ct_incident_add_collector(incident, "native-stacks", CT_COLLECTOR_OK, ms_since(start), NULL);
	else if (err.code == CT_TIMEOUT && incident->n_threads)
		ct_incident_add_collector(incident, "native-stacks", CT_COLLECTOR_PARTIAL, ms_since(start), with_hint(incident, &err));
	else
		add_failure(incident, "native-stacks", start, &err);
}

static void merge_stacks(struct ct_incident *incident, const struct stacks *s)
{
	struct ct_python_stacks stacks = s->has_agent ? s->agent : s->walk;
	if (s->has_agent && s->has_walk)
		ct_hoststack_combine(&incident->arena, &s->agent, &s->walk, &stacks);
	if (s->has_agent || s->has_walk) {
		incident->process.python = stacks.version;
		ct_hoststack_merge(incident, &stacks);
	}
}

static void join_stacks(const struct ct_collect_job *job, struct ct_incident *incident, const struct stacks *s)
{
	merge_stacks(incident, s);
	ct_hoststack_mark_launching(incident, incident->gpu.has_kernel && incident->gpu.kernel.has_launch_tid ? incident->gpu.kernel.launch_tid : 0);
	ct_hoststack_add_sources(incident, job->pid, ct_hoststack_began_us(job->pid));
}

static bool run_gdb(const struct ct_collect_job *job, struct ct_incident *incident, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	struct ct_cudagdb found;
	const struct ct_cudagdb *gdb = job->gdb;
	CT_AUTO(ct_auto_str) struct ct_str so_far = CT_STR_INIT;
	ct_str_addf(&so_far, "%s/" CT_COLLECT_DOCUMENT, job->scratch_dir);
	const struct ct_cudagdb_job gdb_job = {
		.pid = job->pid,
		.incident_path = ct_str_text(&so_far),
		.after = job->resume ? CT_AFTER_DETACH : CT_AFTER_LEAVE,
		.deadline_us = job->deadline_us,
		.scratch_dir = job->scratch_dir,
		.verbose = job->verbose,
		.keep_image = true,
	};
	if (!gdb) {
		if (!ct_cudagdb_find(&incident->arena, NULL, job->environment, incident->process.executable, &found, NULL, err))
			return false;
		gdb = &found;
	}
	return ct_cudagdb_collect(gdb, &gdb_job, &json, err) && ct_incident_read_gpu_json(incident, ct_str_text(&json), json.length, err);
}

static void read_gpu(const struct ct_collect_job *job, struct ct_incident *incident)
{
	int64_t start = ct_now_us();
	struct ct_error err = CT_ERROR_INIT;
	if (!run_gdb(job, incident, &err))
		add_failure(incident, "gpu", start, &err);  // else the document has its own rows
	else
		ct_collect_assert(job->scratch_dir, incident);
}

static bool save(const struct ct_collect_job *job, const struct ct_incident *incident)
{
	char *text = NULL;
	size_t size = 0;
	CT_AUTO(ct_auto_fclose) FILE *out = open_memstream(&text, &size);
	if (!out || !ct_incident_write_json(incident, out, NULL) || fflush(out) != 0) {
		free(text);
		return false;
	}
	CT_AUTO(ct_auto_close) int dir = open(job->scratch_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = dir >= 0 && ct_write_file_at(dir, CT_COLLECT_DOCUMENT, text, size, NULL);
	fclose(out);
	out = NULL;
	free(text);
	return ok;
}

// The target runs free: agent first, then the stacks; cuda-gdb last.
static void collect_waiting(const struct ct_collect_job *job, struct ct_incident *incident)
{
	struct stacks s = {.has_agent = false, .has_walk = false};
	walk_python(job, incident, &s);
	ask_python(job, incident, &s);
	unwind_native(job, incident);
	join_stacks(job, incident, &s);
	save(job, incident);
	if (job->leave_gpu)
		return;
	read_gpu(job, incident);
	ct_collect_launches(job, incident);
}

typedef bool take_part(struct ct_incident *incident, const char *text, size_t length, struct ct_error *err);

static bool read_part(const struct ct_collect_job *job, struct ct_incident *incident, const char *name, take_part *take, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	ct_str_addf(&path, "%s/%s", job->scratch_dir, name);
	return ct_read_file(ct_str_text(&path), CT_INCIDENT_MAX_BYTES, &text, err) && take(incident, ct_str_text(&text), text.length, err);
}

// row NULL: the document has its own.
static void add_part(const struct ct_collect_job *job, struct ct_incident *incident, const char *file, take_part *take, const char *row)
{
	int64_t start = ct_now_us();
	struct ct_error err = CT_ERROR_INIT;
	bool ok = read_part(job, incident, file, take, &err);
	if (!ok)
		add_failure(incident, row ? row : "gpu", start, &err);
	else if (row)
		ct_incident_add_collector(incident, row, CT_COLLECTOR_OK, ms_since(start), NULL);
}

// A cuda-gdb of ours holds the target and has written what it knows; only /proc is left to us.
static void collect_held(const struct ct_collect_job *job, struct ct_incident *incident)
{
	struct stacks s = {.has_agent = false, .has_walk = false};
	add_part(job, incident, CT_CUDAGDB_LIVE_JSON, ct_incident_read_gpu_json, NULL);
	add_part(job, incident, CT_CUDAGDB_LIVE_HOST, ct_incident_read_host_json, "native-stacks");
	walk_python(job, incident, &s);
	join_stacks(job, incident, &s);
	ct_collect_launches(job, incident);
	CT_AUTO(ct_auto_close) int dir = open(job->scratch_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ct_write_file_at(dir, CT_CUDAGDB_LIVE_READ, "", 0, NULL);
}

// Without the right to trace nothing is missing that could be had.
static void unwind_dumping(const struct ct_collect_job *job, struct ct_incident *incident)
{
	struct ct_error err = CT_ERROR_INIT;
	if (ct_hoststack_can_trace(&err))
		unwind_native(job, incident);
	else
		ct_incident_add_collector(incident, "native-stacks", CT_COLLECTOR_SKIPPED, 0, ct_arena_strdup(&incident->arena, err.text));
}

// The driver stands still as long as its dump is not read: stacks first.
static void collect_dumping(const struct ct_collect_job *job, struct ct_incident *incident)
{
	struct stacks s = {.has_agent = false, .has_walk = false};
	struct ct_error err = CT_ERROR_INIT;
	ask_python(job, incident, &s);
	walk_python(job, incident, &s);
	unwind_dumping(job, incident);
	merge_stacks(incident, &s);
	// Only then is the launching thread the one that spins in the driver.
	if (!(incident->launch_blocking && ct_hoststack_mark_running(incident, job->pid)))
		ct_hoststack_mark_launching(incident, 0);
	ct_hoststack_add_sources(incident, job->pid, ct_hoststack_began_us(job->pid));  // what lines say decides which tensors are looked into
	save(job, incident);
	int64_t start = ct_now_us();
	if (!ct_collect_dump(job, incident, &err) && !has_row(incident, "gpu"))
		add_failure(incident, "gpu", start, &err);
	if (!ct_incident_launching(incident) && incident->n_threads)
		ct_incident_add_note(incident, "which thread launched the kernel is not known: no single thread was at work while the driver wrote its dump");
	ct_collect_launches(job, incident);
}

int ct_collect_run(const struct ct_collect_job *job)
{
	struct ct_incident *incident = job->incident;
	ct_collect_environment(incident, job->pid);
	ct_collect_notes(incident, job->agent_dir, job->pid);
	save(job, incident);
	if (job->core)
		collect_dumping(job, incident);
	else if (job->live)
		collect_held(job, incident);
	else
		collect_waiting(job, incident);
	return save(job, incident) ? 0 : 1;
}

bool ct_collect_read(const char *scratch_dir, struct ct_incident **ret_incident, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	ct_str_addf(&path, "%s/" CT_COLLECT_DOCUMENT, scratch_dir);
	return ct_read_file(ct_str_text(&path), CT_INCIDENT_MAX_BYTES, &text, err) && ct_incident_read_json(ct_str_text(&text), text.length, ret_incident, err);
}
