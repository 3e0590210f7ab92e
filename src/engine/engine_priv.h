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
#include "report/report.h"
#include "supervisor/supervisor.h"

enum { CT_MAX_WAITING = 256, CT_MAX_FIFOS = 512, CT_MAX_REDIRECTED = 64 };

struct ct_waiting {
	pid_t pid;
	unsigned n_by_line, n_by_agent;  // how often each told of it
	bool is_held;                    // it does not go on until somebody lets it
	bool let_end;                    // its CUDA calls fail now
};

struct ct_fifo {
	pid_t pid;
	int fd;
};

struct ct_run;
struct ct_redirected;

struct ct_engine {
	const char *name;
	// Sets run->target_argv and the target's environment.
	bool (*prepare)(struct ct_run *run, struct ct_error *err);
	// The driver's line "you can now attach a debugger to PID": a hint in foreign text, not yet believed. May be NULL.
	void (*waiting)(struct ct_run *run, pid_t pid);
	// After ct_supervisor_start(). May be NULL.
	void (*started)(struct ct_run *run);
	// A child was reaped that is not the collector. May be NULL.
	void (*child_ended)(struct ct_run *run, pid_t pid, int wait_status);
	// The command has ended: what was not noticed yet is noticed now or never. Called often; may start the collection. May be NULL.
	void (*last_look)(struct ct_run *run);
	// The collector has ended and its document was read.
	void (*collected)(struct ct_run *run);
};

extern const struct ct_engine ct_engine_wait, ct_engine_live, ct_engine_core;

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
	char *record_dir;            // where the agents write what was launched; NULL: nothing is recorded
	int record_lock;             // holds that folder, as long as there is one
	const char *record_missing;  // why not, when it was wanted
	struct ct_supervisor *supervisor;
	struct ct_loglines *lines, *fault_lines;  // of our stderr; of the stream that told of the fault, one of redirected[] or NULL
	struct ct_redirected *redirected[CT_MAX_REDIRECTED];
	size_t n_redirected;

	struct ct_incident *incident;  // NULL until the first fault
	int64_t fault_us;              // when it was noticed
	pid_t fault_pid;
	pid_t collector;               // 0: none running
	struct ct_collect_job job;
	bool collected;
	bool is_ending;  // the report is made, the command is being ended
	bool aborted;    // by our SIGABRT
	bool is_let_end;      // the fault's error was returned to the processes that had one
	unsigned error_code;  // that error, a CUresult; 0: none yet
	pid_t early_helper;   // shows the report while the command still runs; 0: none
	const char *early_id; // of the report that it wrote; NULL: none
	bool fault_pid_reaped;
	int fault_pid_status;
	struct ct_waiting waiting[CT_MAX_WAITING];  // processes that wait in the driver, the first one included
	size_t n_waiting;
	struct ct_supervisor_result result;
	const char *dump_dir;  // engine core: where the driver writes
	struct ct_fifo fifos[CT_MAX_FIFOS];  // one for each process that uses CUDA
	size_t n_fifos;
	int dump_fd;  // of the first fault; -1: dump_path
	const char *dump_path;
	bool waits_again;    // engine wait, --after-fault=continue: a fault after the first
	int waiting_socket;  // engine wait; -1: none
	const char *report_id;    // of the report that was written; NULL: none
	const char *report_path;  // its folder
	struct ct_marker marker;  // of this rank, when has_marker
	bool has_marker;
	bool interactive;    // a person has the terminal: what options ask for, where it is possible
	bool session_told;   // the report is written and shown, the session has its incident
	bool ended_with_session;  // engine live: whoever sat there left while the command stood
	pid_t session;       // engine wait: the cuda-gdb on the terminal; 0: none
	char **session_argv, **session_environment;
	void (*look)(struct ct_run *run);  // at what is new in the scratch folder
	bool look_done;                    // nothing is looked for any more
	bool same_end;  // nothing was trapped: we end as the command did, by its signal if it was one
};

// Environment of the target. value NULL removes.
const char *ct_run_getenv(const struct ct_run *run, const char *name);
void ct_run_setenv(struct ct_run *run, const char *name, const char *value);

// A ct_rank_lookup over the target's environment; context is a const struct ct_run.
const char *ct_run_lookup(const void *context, const char *name);
const char *ct_run_boot_id(struct ct_arena *arena);  // NULL when the kernel does not tell
const char *ct_run_host(struct ct_arena *arena);
// The rank's markers in --job-dir, if it was given: before the command starts, after it has ended.
void ct_run_rank_started(struct ct_run *run);
void ct_run_rank_ended(struct ct_run *run, int exit_status);
// setup.c: the private folder, in TMPDIR or where there is room; the agent, left out with run->agent_missing when it cannot be preloaded.
bool ct_run_make_scratch(struct ct_run *run, struct ct_error *err);
void ct_run_remove_scratch(struct ct_run *run);
void ct_run_remove_folder(int parent_fd, const char *name);  // with all that is in it
void ct_run_find_agent(struct ct_run *run);
// record.c: the folder for the record of launches, when one is wanted; that there is none is said, and the run goes on.
void ct_run_start_record(struct ct_run *run);
// Nothing was trapped: fills incident with the failing call that is worth a report. False: there is none.
bool ct_run_take_failed_call(struct ct_run *run, struct ct_incident *incident);
void ct_run_keep_record(const struct ct_run *run, const char *report_path);  // with --keep-record

// session.c: a cuda-gdb session on the terminal.
// Is there a terminal for one, and an engine? One line when it was asked for and there is no terminal; CT_USAGE when the engine has none.
bool ct_run_want_session(struct ct_run *run, struct ct_error *err);
// Diagnosis, the report's first screen, and the incident for the scripts, which wait for it. The program stands at the fault; the report
// folder is written at the end, with all that came in.
void ct_run_tell_session(struct ct_run *run);
// Engine wait: a cuda-gdb on the waiting process takes the terminal. Its end comes back as ct_run_session_ended().
void ct_run_open_session(struct ct_run *run);
void ct_run_session_ended(struct ct_run *run);
// attach: the same without a supervisor; returns when the session has ended.
bool ct_run_hold_session(struct ct_run *run, pid_t pid, bool leave, struct ct_error *err);
// Calls look() when a file comes into the scratch folder, until run->look_done.
void ct_run_watch_scratch(struct ct_run *run, void (*look)(struct ct_run *run));
void ct_run_say_plain(const struct ct_run *run);  // when cuda-gdb cannot run the scripts
const char *ct_run_program(struct ct_run *run);  // our own executable
bool ct_run_in_scratch(const struct ct_run *run, const char *name);

// The driver says that pid waits.
void ct_run_waiting(struct ct_run *run, int64_t pid);
// redirected.c: stderr streams that go to files.
void ct_run_watch_redirected(struct ct_run *run);
void ct_run_read_redirected(struct ct_run *run);  // what came since the last look
void ct_run_free_redirected(struct ct_run *run);

// Creates the incident of the first fault and fills in what the run knows.
struct ct_incident *ct_run_new_incident(struct ct_run *run);
// Starts the collectors on pid in a helper process; their end comes back as engine->collected.
void ct_run_collect(struct ct_run *run, pid_t pid);
// Sends SIGABRT to everything that waits in the driver, without core files; after the grace time the whole tree is ended.
void ct_run_abort_waiting(struct ct_run *run);
// let_end.c: --after-fault=error. Everything that waits gets its fault's error from every CUDA call and ends by its own means; what cannot
// be told so, and what is still there after --ending-limit, is ended by SIGABRT.
void ct_run_let_all_end(struct ct_run *run);
// One process: until ct_run_let_all_end() no CUDA call of it begins or comes back.
bool ct_run_hold(struct ct_run *run, pid_t pid, struct ct_error *err);
// A program may go on for long after its error (a notebook's kernel): then the report is shown while it runs, and its end is added later.
void ct_run_deliver_early_later(struct ct_run *run);
void ct_run_take_early(struct ct_run *run);  // run->early_helper has ended
// Somebody wants out while the collectors are at work: takes what they have so far.
void ct_run_break_off_collection(struct ct_run *run);
// After the grace time the whole tree is ended: launchers end by themselves when a rank dies, what does not is ended.
void ct_run_end_tree_later(struct ct_run *run);
// Everything that a run needs besides its command, and its release.
bool ct_run_prepare(struct ct_run *run, struct ct_error *err);
void ct_run_done(struct ct_run *run);
void ct_run_diagnose(struct ct_incident *incident);  // and the explanation of the values
// Writes and shows the report of run->incident.
void ct_run_deliver(struct ct_run *run);
// Then: a CI system, --syslog, --on-report; and removes old reports (--keep). Not for a report that is still to be added to.
void ct_run_tell(struct ct_run *run);
// Shows the text report on stderr; in a session its first screen. path: of the folder; NULL: none yet.
void ct_run_show(const struct ct_run *run, const struct ct_incident *incident, const char *path);
// Report, exit status.
int ct_run_conclude(struct ct_run *run);
// Under a CI system that takes more than an exit status: annotation and summary. report_path may be NULL.
void ct_run_tell_ci(const struct ct_run *run, const char *report_path);
// tell.c: runs --on-report and writes to the system's log; their failures are said and change nothing. report_path NULL: none was written.
void ct_run_tell_others(struct ct_run *run, const char *report_path);
// syslog.c: a message to journald, else to /dev/log. CT_UNAVAILABLE: there is neither. None of these waits: CT_TIMEOUT where nobody takes it.
bool ct_run_log(struct ct_incident *incident, const char *path, struct ct_error *err);
const char *ct_run_log_line(struct ct_incident *incident, const char *path);
// One datagram by journald's native protocol to socket_path.
bool ct_run_log_journal(struct ct_incident *incident, const char *path, const char *socket_path, struct ct_error *err);
// One message as syslog(3) writes it; the socket may be one of datagrams or a stream.
bool ct_run_log_syslog(struct ct_incident *incident, const char *path, const char *socket_path, struct ct_error *err);

// One line about a failure of ours; returns status.
int ct_run_complain(const struct ct_error *err, int status);
// Says something on stderr in --verbose runs.
void ct_run_say(const struct ct_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
