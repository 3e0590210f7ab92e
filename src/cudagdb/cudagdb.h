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
// wins; else the first that runs. environment is the target's. An explicit one that does not work is an error, not a hint to go on.
bool ct_cudagdb_find(struct ct_arena *arena, const char *explicit_path, char *const *environment, const char *target_exe, struct ct_cudagdb *ret_gdb,
		     struct ct_cudagdb_search *ret_search, struct ct_error *err);

enum ct_cudagdb_after {
	CT_AFTER_DETACH,  // let the target go on
	CT_AFTER_ABORT,   // leave a SIGABRT pending, then detach: it never runs past the fault
};

struct ct_cudagdb_job {
	pid_t pid;              // attach to this; 0: open core_path
	const char *core_path;
	enum ct_cudagdb_after after;
	int64_t deadline_us;    // ct_now_us() scale; cuda-gdb is killed then
	const char *scratch_dir;  // private, exists: TMPDIR and cwd of cuda-gdb, its log, its JSON
	bool verbose;           // its own output to our stderr
};

// Runs it to the end. *ret_json: the document that ct_incident_read_gpu_json() reads. On failure err says what cuda-gdb said in our
// words (ptrace refused, driver too old, MPS, crashed, hung), never its own noise.
bool ct_cudagdb_collect(const struct ct_cudagdb *gdb, const struct ct_cudagdb_job *job, struct ct_str *ret_json, struct ct_error *err);

#endif
