// What the engines share: one run of one command.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_ENGINE_PRIV_H
#define CT_ENGINE_PRIV_H

#include <sys/types.h>

#include "collect/collect.h"
#include "cudagdb/cudagdb.h"
#include "diagnose/diagnose.h"
#include "engine/engine.h"
#include "incident/incident.h"
#include "supervisor/supervisor.h"

enum { CT_MAX_WAITING = 256 };

struct ct_run;

struct ct_engine {
	const char *name, *summary;
	// Sets run->target_argv and the target's environment.
	bool (*prepare)(struct ct_run *run, struct ct_error *err);
	// The driver's line "you can now attach a debugger to PID": a hint in foreign text, not yet believed. May be NULL.
	void (*waiting)(struct ct_run *run, pid_t pid);
	// After ct_supervisor_start(). May be NULL.
	void (*started)(struct ct_run *run);
	// A child was reaped that is not the collector. May be NULL.
	void (*child_ended)(struct ct_run *run, pid_t pid, int wait_status);
	// The collector has ended and its document was read.
	void (*collected)(struct ct_run *run);
};

extern const struct ct_engine ct_engine_wait, ct_engine_live;

struct ct_run {
	const struct ct_options *options;
	const struct ct_engine *engine;
	const char *engine_why;
	struct ct_arena arena;
	const char *cwd;

	char **environment;  // the target's, NULL-terminated
	size_t n_environment;
	char **target_argv, **target_environment;  // what the supervisor starts; engines may put a debugger in between
	int folder_watch;  // inotify on the scratch folder; -1: none

	struct ct_cudagdb gdb;  // when has_gdb; otherwise the collectors look for one at the fault
	bool has_gdb;

	char *scratch;      // private folder, removed at the end
	char *agent_dir;    // in it; NULL when there is no agent
	struct ct_error agent_missing;
	struct ct_supervisor *supervisor;
	struct ct_loglines *lines;

	struct ct_incident *incident;  // NULL until the first fault
	int64_t fault_us;              // when it was noticed
	pid_t fault_pid;
	pid_t collector;               // 0: none running
	struct ct_collect_job job;
	bool collected;
	bool aborted;  // we sent SIGABRT
	bool fault_pid_reaped;
	int fault_pid_status;
	pid_t waiting[CT_MAX_WAITING];  // processes that wait in the driver, the first one included
	size_t n_waiting;
	struct ct_supervisor_result result;
	bool same_end;  // nothing was trapped: we end as the command did, by its signal if it was one
};

// Environment of the target. value NULL removes.
const char *ct_run_getenv(const struct ct_run *run, const char *name);
void ct_run_setenv(struct ct_run *run, const char *name, const char *value);

// Creates the incident of the first fault and fills in what the run knows.
struct ct_incident *ct_run_new_incident(struct ct_run *run);
// Starts the collectors on pid in a helper process; their end comes back as engine->collected.
void ct_run_collect(struct ct_run *run, pid_t pid);
// Sends SIGABRT to everything that waits in the driver, without core files; after the grace time the whole tree is ended.
void ct_run_abort_waiting(struct ct_run *run);
// Report, exit status.
int ct_run_conclude(struct ct_run *run);
// Under a CI system that takes more than an exit status: annotation and summary. report_path may be NULL.
void ct_run_tell_ci(const struct ct_run *run, const char *report_path);

// Says something on stderr in --verbose runs.
void ct_run_say(const struct ct_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
