// One run of one command: what all engines do the same way.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "engine/engine_priv.h"
#include "hoststack/hoststack.h"

extern char **environ;

void ct_run_say(const struct ct_run *run, const char *format, ...)
{
	if (!run->options->verbose)
		return;
	CT_AUTO(ct_auto_str) struct ct_str line = CT_STR_INIT;
	char text[1024];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	ct_str_addf(&line, "cudatrap: %s\n", text);
	ct_write_all(STDERR_FILENO, line.data, line.length, NULL);
}

// ---- The target's environment ------------------------------------------------------------------------------

static size_t find_variable(const struct ct_run *run, const char *name)
{
	size_t length = strlen(name), i = 0;
	while (i < run->n_environment && !(strncmp(run->environment[i], name, length) == 0 && run->environment[i][length] == '='))
		i++;
	return i;
}

const char *ct_run_getenv(const struct ct_run *run, const char *name)
{
	size_t i = find_variable(run, name);
	return i < run->n_environment ? run->environment[i] + strlen(name) + 1 : NULL;
}

void ct_run_setenv(struct ct_run *run, const char *name, const char *value)
{
	size_t i = find_variable(run, name);
	bool found = i < run->n_environment;
	if (!value) {
		if (found)
			memmove(run->environment + i, run->environment + i + 1, (run->n_environment - i) * sizeof *run->environment);
		run->n_environment -= found ? 1 : 0;
		return;
	}
	run->environment[i] = ct_arena_printf(&run->arena, "%s=%s", name, value);
	if (!found)
		run->environment[++run->n_environment] = NULL;
}

enum { ROOM_FOR_OURS = 32 };

static void copy_environment(struct ct_run *run)
{
	size_t n = 0;
	while (environ[n])
		n++;
	run->environment = ct_arena_array(&run->arena, n + ROOM_FOR_OURS, sizeof *run->environment);
	for (size_t i = 0; i < n; i++)
		run->environment[i] = ct_arena_strdup(&run->arena, environ[i]);
	run->n_environment = n;
	ct_run_setenv(run, "CUDATRAP_OPTIONS", NULL);
}

// ---- Engines -----------------------------------------------------------------------------------------------

// Attaching needs the right to trace and a cuda-gdb; the driver's dump needs neither.
static void choose_automatically(struct ct_run *run)
{
	struct ct_error why = CT_ERROR_INIT;
	bool can_attach = ct_hoststack_can_trace(&why);
	if (can_attach && !run->options->cuda_gdb && !ct_cudagdb_exists(run->environment, NULL))
		can_attach = ct_fail(&why, CT_NOT_FOUND, "no cuda-gdb here");
	// Without the agent a program that sends its stderr elsewhere would wait for ever.
	if (can_attach && !run->agent_dir)
		can_attach = ct_fail(&why, CT_NOT_FOUND, "no agent (%s)", run->agent_missing.text);
	bool dump = !can_attach && run->options->after_fault != CT_FAULT_CONTINUES;
	run->engine = dump ? &ct_engine_core : &ct_engine_wait;
	run->engine_why = dump ? ct_arena_printf(&run->arena, "wait cannot attach: %s", why.text) : "default: native speed";
}

static void choose_engine(struct ct_run *run)
{
	switch (run->options->engine) {
	case CT_ENGINE_LIVE:
		run->engine = &ct_engine_live;
		run->engine_why = "asked for";
		return;
	case CT_ENGINE_WAIT:
		run->engine = &ct_engine_wait;
		run->engine_why = "asked for";
		return;
	case CT_ENGINE_CORE:
		run->engine = &ct_engine_core;
		run->engine_why = "asked for";
		return;
	case CT_ENGINE_AUTO:
		choose_automatically(run);
		return;
	}
}

// ---- Hooks of the supervisor ---------------------------------------------------------------------------------------

void ct_run_waiting(struct ct_run *run, int64_t pid)
{
	if (run->engine->waiting)
		run->engine->waiting(run, (pid_t)pid);
}

static void on_waiting(void *context, int64_t pid)
{
	ct_run_waiting(context, pid);
}

static void on_output(void *context, enum ct_stream stream, const char *bytes, size_t length)
{
	struct ct_run *run = context;
	ct_loglines_feed(run->lines, (int)stream, bytes, length);
}

// The collectors filled a copy; what came in here meanwhile goes on top.
static void adopt(struct ct_run *run, struct ct_incident *found)
{
	const struct ct_incident *old = run->incident;
	for (size_t i = 0; i < old->n_consequences; i++)
		ct_incident_add_consequence(found, old->consequences[i].pid, old->consequences[i].seconds_after, old->consequences[i].text);
	for (size_t i = 0; i < old->n_notes; i++)
		ct_incident_add_note(found, "%s", old->notes[i]);
	ct_incident_free(run->incident);
	run->incident = found;
}

static void take_document(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	struct ct_incident *found = NULL;
	run->collector = 0;
	run->collected = true;
	if (ct_collect_read(run->scratch, &found, &err))
		adopt(run, found);
	else
		ct_incident_add_note(run->incident, "nothing was collected: %s", err.text);
	run->incident->process.is_descendant = run->fault_pid != ct_supervisor_target(run->supervisor) && run->engine != &ct_engine_live;
	run->incident->seconds_to_report = (double)(ct_now_us() - run->fault_us) / 1e6;
	// In engine live the fault was a while before its file appeared, and nobody saw when.
	run->incident->has_seconds_to_report = run->engine != &ct_engine_live;
}

static void take_collected(struct ct_run *run, int wait_status)
{
	take_document(run);
	if (WIFSIGNALED(wait_status))
		ct_incident_add_note(run->incident, "the collection was cut short (signal %d): what is missing was not reached", WTERMSIG(wait_status));
	else if (WEXITSTATUS(wait_status) != 0)
		ct_incident_add_note(run->incident, "what was collected last could not be stored in %s: is it full?", run->scratch);
	ct_run_say(run, "collected after %.2f s", run->incident->seconds_to_report);
	run->engine->collected(run);
}

void ct_run_break_off_collection(struct ct_run *run)
{
	if (!run->collector)
		return;
	kill(run->collector, SIGKILL);
	take_document(run);
	ct_incident_add_note(run->incident, "the collection was broken off by a signal: what is missing was not reached");
}

static void on_child_ended(void *context, pid_t pid, int wait_status)
{
	struct ct_run *run = context;
	if (pid == run->fault_pid && run->fault_pid) {
		run->fault_pid_reaped = true;
		run->fault_pid_status = wait_status;
	}
	if (run->session && pid == run->session)
		ct_run_session_ended(run);
	else if (run->collector && pid == run->collector)
		take_collected(run, wait_status);
	else if (run->early_helper && pid == run->early_helper)
		ct_run_take_early(run);
	else if (run->engine->child_ended)
		run->engine->child_ended(run, pid, wait_status);
}

static bool may_finish(void *context)
{
	struct ct_run *run = context;
	if (run->engine->last_look)
		run->engine->last_look(run);
	return run->collector == 0 && run->early_helper == 0 && run->session == 0;
}

// ---- A fault ----------------------------------------------------------------------------------------------------------

const char *ct_run_boot_id(struct ct_arena *arena)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (!ct_read_file("/proc/sys/kernel/random/boot_id", 256, &text, NULL) || !text.length)
		return NULL;
	return ct_arena_clean(arena, text.data, strcspn(text.data, "\n"));
}

const char *ct_run_host(struct ct_arena *arena)
{
	char host[256] = "";
	return gethostname(host, sizeof host - 1) == 0 && *host ? ct_arena_clean(arena, host, strlen(host)) : NULL;
}

const char *ct_run_lookup(const void *context, const char *name)
{
	return ct_run_getenv(context, name);
}

struct ct_incident *ct_run_new_incident(struct ct_run *run)
{
	struct ct_incident *incident = ct_incident_new();
	const char **words = ct_arena_array(&incident->arena, (size_t)run->options->argc, sizeof *words);
	for (int i = 0; i < run->options->argc; i++)
		words[i] = ct_arena_clean(&incident->arena, run->options->argv[i], strlen(run->options->argv[i]));
	incident->command = words;
	incident->n_command = (size_t)run->options->argc;
	incident->cwd = ct_arena_clean(&incident->arena, run->cwd, strlen(run->cwd));
	incident->tool_version = "cudatrap " CT_VERSION;
	incident->time_us = ct_wall_us();
	incident->monotonic_us = ct_now_us();
	incident->boot_id = ct_run_boot_id(&incident->arena);
	// The supervisor's own: the collectors put those of the failing process in their place.
	incident->host = ct_run_host(&incident->arena);
	ct_collect_rank(&incident->arena, ct_run_lookup, run, &incident->rank);
	incident->engine = run->engine->name;
	incident->engine_why = ct_arena_strdup(&incident->arena, run->engine_why);
	const char *blocking = ct_run_getenv(run, "CUDA_LAUNCH_BLOCKING");
	incident->launch_blocking = blocking && strcmp(blocking, "0") != 0 && *blocking;
	run->incident = incident;
	return incident;
}

static int collect_entry(void *context)
{
	// A full disk, a file limit or a reader of --verbose that has gone must give an error, not end the collection.
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return ct_collect_run(context);
}

static void stop_collector(void *context)
{
	struct ct_run *run = context;
	if (run->collector)
		kill(run->collector, SIGKILL);
}

void ct_run_collect(struct ct_run *run, pid_t pid)
{
	struct ct_error err = CT_ERROR_INIT;
	run->fault_us = ct_now_us();
	run->fault_pid = pid;
	run->job = (struct ct_collect_job){
		.incident = run->incident,
		.pid = pid,
		.deadline_us = run->fault_us + run->options->deadline_ms * 1000,
		.scratch_dir = run->scratch,
		.agent_dir = run->agent_dir,
		.gdb = run->has_gdb ? &run->gdb : NULL,
		.environment = run->environment,
		.resume = run->options->after_fault == CT_FAULT_CONTINUES,
		.verbose = run->options->verbose,
		.core = run->engine == &ct_engine_core,
		.dump_fd = run->dump_fd,
		.dump_path = run->dump_path,
		.keep_dump = run->options->keep_dump,
		.dump_limit_bytes = (uint64_t)run->options->dump_limit_mib << 20,
		.live = run->engine == &ct_engine_live,
		.anomaly = run->options->anomaly,
		.record_dir = run->record_dir,
		.record_missing = run->record_missing,
		.history = run->options->history,
		.leave_gpu = run->interactive && run->gdb.has_gdb_cuda,
	};
	ct_run_say(run, "fault in process %d: collecting", (int)pid);
	run->collector = ct_supervisor_spawn_helper(run->supervisor, collect_entry, &run->job, &err);
	if (run->collector > 0) {
		// A second for the collectors to notice the deadline by themselves.
		ct_supervisor_timer(run->supervisor, run->job.deadline_us + 1000000, stop_collector, run);
		return;
	}
	run->collector = 0;
	run->collected = true;
	ct_incident_add_note(run->incident, "nothing was collected: %s", err.text);
	run->engine->collected(run);
}

static void end_whole_tree(void *context)
{
	struct ct_run *run = context;
	ct_supervisor_end_tree(run->supervisor, SIGTERM);
}

void ct_run_end_tree_later(struct ct_run *run)
{
	ct_supervisor_timer(run->supervisor, ct_now_us() + run->options->grace_ms * 1000, end_whole_tree, run);
}

void ct_run_abort_waiting(struct ct_run *run)
{
	// The driver would have let the process report an error; that we end it by SIGABRT must not cost a core file of gigabytes.
	const struct rlimit no_core = {0, 0};
	for (size_t i = 0; i < run->n_waiting; i++) {
		// It may have ended meanwhile, and its number be another's.
		if (!ct_supervisor_has(run->supervisor, run->waiting[i].pid))
			continue;
		prlimit(run->waiting[i].pid, RLIMIT_CORE, &no_core, NULL);
		kill(run->waiting[i].pid, SIGABRT);
		run->aborted = true;
	}
	run->is_ending = true;
	// Launchers end by themselves when a rank dies; what does not is ended.
	ct_run_end_tree_later(run);
}

// ---- The run -----------------------------------------------------------------------------------------------------------

void ct_run_done(struct ct_run *run)
{
	pid_t live = run->supervisor && run->engine == &ct_engine_live ? ct_supervisor_target(run->supervisor) : 0;
	ct_supervisor_free(run->supervisor);
	if (run->scratch)
		ct_cudagdb_clean_up(run->scratch, live, ct_run_getenv(run, "TMPDIR"));
	ct_run_free_redirected(run);
	ct_loglines_free(run->lines);
	if (run->waiting_socket >= 0)
		close(run->waiting_socket);
	if (run->folder_watch >= 0)
		close(run->folder_watch);
	ct_incident_free(run->incident);
	if (run->scratch)
		ct_run_remove_scratch(run);
	ct_arena_done(&run->arena);
	free((char *)run->cwd);
}

int ct_run_complain(const struct ct_error *err, int status)
{
	CT_AUTO(ct_auto_str) struct ct_str line = CT_STR_INIT;
	ct_str_addf(&line, "cudatrap: %s", err->text);
	if (err->hint[0])
		ct_str_addf(&line, " (%s)", err->hint);
	ct_str_addc(&line, '\n');
	ct_write_all(STDERR_FILENO, line.data, line.length, NULL);
	return status;
}

// Starting cuda-gdb to see whether it works takes a tenth of a second or more: only what cannot wait until a fault is looked at now.
static bool find_gdb(struct ct_run *run, struct ct_error *err)
{
	if (!run->options->cuda_gdb && run->engine != &ct_engine_live && !run->interactive)
		return true;
	run->has_gdb = ct_cudagdb_find(&run->arena, run->options->cuda_gdb, run->environment, run->options->argv[0], &run->gdb, NULL, err);
	return run->has_gdb;
}

// As env(1) has it: not found, not executable, everything else.
static int status_of(const struct ct_error *err)
{
	return err->code == CT_NOT_FOUND ? 127 : err->code == CT_DENIED ? 126 : 125;
}

bool ct_run_prepare(struct ct_run *run, struct ct_error *err)
{
	run->cwd = getcwd(NULL, 0);
	run->cwd = run->cwd ? run->cwd : ct_xstrdup("");
	copy_environment(run);
	if (!ct_run_make_scratch(run, err))
		return false;
	ct_run_find_agent(run);
	const char *dir = run->options->report_dir;
	ct_run_setenv(run, "CUDATRAP_DIR", *dir == '/' ? dir : ct_arena_printf(&run->arena, "%s/%s", run->cwd, dir));
	choose_engine(run);
	if (!ct_run_want_session(run, err))
		return false;
	if (!find_gdb(run, err))
		return false;
	run->lines = ct_loglines_new();
	ct_loglines_on_waiting(run->lines, on_waiting, run);
	run->target_argv = run->options->argv;
	run->target_environment = run->environment;
	return true;
}

static int start_and_run(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	const struct ct_supervisor_hooks hooks = {.context = run, .output = on_output, .child_ended = on_child_ended, .may_finish = may_finish};
	ct_run_start_record(run);
	ct_run_setenv(run, "CUDATRAP_ANOMALY", run->options->anomaly ? "1" : NULL);
	if (!run->engine->prepare(run, &err))
		return ct_run_complain(&err, status_of(&err));
	const struct ct_supervisor_options options = {
		.argv = run->target_argv,
		.envp = run->target_environment,
		.watch_stdout = run->options->watch_stdout,
		.timeout_ms = run->options->timeout_ms,
		.grace_ms = run->options->grace_ms,
	};
	if (!ct_supervisor_start(&options, &hooks, &run->supervisor, &err))
		return ct_run_complain(&err, status_of(&err));
	if (run->engine->started)
		run->engine->started(run);
	if (!ct_supervisor_run(run->supervisor, &run->result, &err))
		return ct_run_complain(&err, 125);
	return ct_run_conclude(run);
}

int ct_engine_run(const struct ct_options *options)
{
	struct ct_error err = CT_ERROR_INIT;
	struct ct_run run = {.options = options, .arena = CT_ARENA_INIT, .folder_watch = -1, .dump_fd = -1, .waiting_socket = -1};
	int status = 125;
	if (ct_run_prepare(&run, &err)) {
		ct_run_rank_started(&run);
		status = start_and_run(&run);
		ct_run_rank_ended(&run, status);
	} else {
		ct_run_complain(&err, status);
	}
	const struct ct_supervisor_result result = run.result;
	bool die_as_it = run.same_end;
	ct_run_done(&run);
	if (die_as_it)
		ct_supervisor_end_as(&result);
	return status;
}
