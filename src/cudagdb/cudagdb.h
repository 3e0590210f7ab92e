// cuda-gdb as a tool of ours: find one that works, run it with our scripts, read its JSON. Nothing it prints is shown.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_CUDAGDB_H
#define CT_CUDAGDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

struct ct_cudagdb {
	const char *path;      // what to execute
	const char *version;   // "13.0"
	const char *python;    // "3.11.2"; NULL: this copy has no Python
	bool has_gdb_cuda;     // gdb.cuda (12.7 and later)
	const char *found_by;  // "--cuda-gdb", "CUDATRAP_CUDA_GDB", "PATH", "/usr/local/cuda", ...
};

// What was tried and turned down, for doctor and for the report: one line each.
struct ct_cudagdb_search {
	const char **lines;
	size_t n_lines;
};

// Looks in this order: explicit_path (may be NULL), CUDATRAP_CUDA_GDB, PATH, CUDA_HOME and CUDA_PATH, /usr/local/cuda*/bin,
// /opt/cuda/bin, the CUDA of target_exe's environment (conda prefix, nvidia wheels beside its python). The first with gdb.cuda
// wins; else the first that runs. environment is the target's. An explicit one (either way) that does not work is an error, not a
// hint to go on. Each is tried by running it; nothing is remembered. ret_search (may be NULL) is filled on failure, too.
bool ct_cudagdb_find(struct ct_arena *arena, const char *explicit_path, char *const *environment, const char *target_exe, struct ct_cudagdb *ret_gdb,
		     struct ct_cudagdb_search *ret_search, struct ct_error *err);

// Is there any program to try? Nothing is started.
bool ct_cudagdb_exists(char *const *environment, const char *target_exe);

enum ct_cudagdb_after {
	CT_AFTER_DETACH,  // let the target go on
	CT_AFTER_LEAVE,   // end cuda-gdb while it is attached: the target goes on waiting in the driver, and never runs past the fault
};

struct ct_cudagdb_job {
	pid_t pid;              // attach to this; 0: open core_path
	const char *core_path;
	const char *incident_path;  // the incident so far, for the tensors in it; NULL: none
	enum ct_cudagdb_after after;
	int64_t deadline_us;      // ct_now_us() scale; cuda-gdb is killed then
	const char *scratch_dir;  // private, exists, absolute: cwd of cuda-gdb, its log (cuda-gdb.log), its JSON; TMPDIR when a core is opened
	bool verbose;             // its own output to our stderr
	bool keep_image;          // leave the code image of a failed assert as CT_CUDAGDB_IMAGE, for the caller to take away
};

#define CT_CUDAGDB_IMAGE "image.cubin"  // in scratch_dir

// Runs it to the end. *ret_json: the document that ct_incident_read_gpu_json() reads. On failure err says what cuda-gdb said in our
// words (ptrace refused, driver too old, MPS, crashed, hung), never its own noise. A cuda-gdb without Python or gdb.cuda is driven
// through its machine interface: fewer facts, and the collector row says which are missing.
// Waits for its child with waitpid(): the caller must not reap that away.
bool ct_cudagdb_collect(const struct ct_cudagdb *gdb, const struct ct_cudagdb_job *job, struct ct_str *ret_json, struct ct_error *err);

// The whole run under cuda-gdb.
struct ct_cudagdb_live {
	char *const *argv;        // of the target; a script is run by the interpreter of its first line, as the kernel would
	char *const *environment;  // of the target, whole
	const char *scratch_dir;  // private, exists, absolute: gets the files below
	const int *fds;           // three of 3..9: free in the process that executes the result, see ct_cudagdb_free_fds()
	const char *break_on;     // device functions to stop in, separated by commas; NULL: none, exceptions stop all the same
	bool api_failures;        // stop at CUDA calls that fail, too
	bool continue_after;      // go on after a fault instead of ending the target
	bool interactive;         // cuda-gdb has the terminal, and its prompt at the fault
	const char *program;      // interactive: ours, which has the words of the scripts
};

// Files in scratch_dir: the JSON of the first fault (the next ones are ".2", ".3", ...), the state of the target, cuda-gdb's own words.
#define CT_CUDAGDB_LIVE_JSON "gpu.json"
#define CT_CUDAGDB_LIVE_HOST "host.json"  // the host threads' stacks at the first fault, there before the JSON above
#define CT_CUDAGDB_LIVE_READ "read"       // ours to create: the stopped target was read, the script goes on
#define CT_CUDAGDB_LIVE_STATUS "live-status.json"
#define CT_CUDAGDB_LOG "cuda-gdb.log"

// Three descriptors from 3 to 9 that are not open in this process, for live.fds.
bool ct_cudagdb_free_fds(int ret_fds[3], struct ct_error *err);

// What to execute, instead of the target and in the same place, to run it under cuda-gdb: descriptors 0, 1 and 2 become the target's,
// cuda-gdb itself has /dev/null and its log. The target sees its own arguments, environment, descriptors and signals.
// The exit status is the target's, or 128 + its signal; the status file tells them apart. argv and envp end in NULL and live in the arena.
bool ct_cudagdb_live_argv(struct ct_arena *arena, const struct ct_cudagdb *gdb, const struct ct_cudagdb_live *live, char ***ret_argv,
			  char ***ret_environment, struct ct_error *err);

struct ct_cudagdb_live_status {
	pid_t pid;  // of the target; 0: not started yet
	bool exited, signaled, aborted;  // aborted: by us, after a fault
	int status;  // exit status or signal number
};

// Reads the status file; one that is not there yet is a status of zeros.
bool ct_cudagdb_live_status(const char *scratch_dir, struct ct_cudagdb_live_status *ret_status, struct ct_error *err);

// Why the program was not started, from what cuda-gdb said. Returns false.
bool ct_cudagdb_live_explain(const char *scratch_dir, struct ct_error *err);

// In a session: the scripts wait for this, the incident as it was reported, before they hand over.
#define CT_CUDAGDB_SESSION_INCIDENT "session.json"

// A cuda-gdb session on the terminal, attached to a process.
struct ct_cudagdb_session {
	pid_t pid;
	const char *scratch_dir;  // as above; gets the GPU part under CT_CUDAGDB_LIVE_JSON
	const char *program;      // ours, which has the words of the scripts
	bool leave;               // at the end of the session the process goes on waiting; else it is let go
};

// What to execute for it, on the terminal. A cuda-gdb without Python gets a file of plain commands, named in CT_CUDAGDB_PLAIN, and
// writes nothing. argv and environment end in NULL and live in the arena.
bool ct_cudagdb_session_argv(struct ct_arena *arena, const struct ct_cudagdb *gdb, const struct ct_cudagdb_session *session, char ***ret_argv,
			     char ***ret_environment, struct ct_error *err);
// Why the session's cuda-gdb ended before it had read the GPU, from what it said. Returns false.
bool ct_cudagdb_session_explain(const char *scratch_dir, struct ct_error *err);
#define CT_CUDAGDB_PLAIN "trap-why, trap-threads, trap-thread, trap-stack, trap-regs, trap-asm"

// Removes what a cuda-gdb that was ended leaves in TMPDIR/cuda-dbg: of the last one that worked in scratch_dir, and of live_pid (0: none), which had tmpdir
// (NULL: none set) in its environment.
void ct_cudagdb_clean_up(const char *scratch_dir, pid_t live_pid, const char *tmpdir);

#endif
