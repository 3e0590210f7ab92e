// What the files of cudagdb/ share.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_CUDAGDB_PRIV_H
#define CT_CUDAGDB_PRIV_H

#include "cudagdb/cudagdb.h"

// The scripts' document: 64 groups of 64 lanes and runs each stay below 2 MB.
#define CT_CUDAGDB_JSON_LIMIT ((size_t)16 << 20)
#define CT_CUDAGDB_LOG_LIMIT ((size_t)1 << 20)
// A link in scratch_dir to the dump that is read.
#define CT_CUDAGDB_CORE_NAME "core.nvcore"

// ---- child.c: a program of ours that must not harm anybody

struct ct_child {
	char *const *argv;         // argv[0] is a path
	char *const *environment;
	const char *cwd;           // NULL: ours
	int64_t deadline_us;
	const char *log_path;      // NULL: no log; its stdout and stderr, cut at CT_CUDAGDB_LOG_LIMIT
	bool verbose;              // the same to our stderr
	void (*started)(void *context, pid_t pid);  // NULL: not wanted; called once it is executed
	void *context;
	struct ct_str *output;     // NULL: not wanted; the same, cut likewise
};

struct ct_child_result {
	pid_t pid;
	int wait_status;
	bool timed_out;
};

// Runs it in a session of its own, without core files, stdin /dev/null, and dies with us. At the deadline its whole group is
// killed. False only when it could not be started or waited for.
bool ct_child_run(const struct ct_child *child, struct ct_child_result *ret_result, struct ct_error *err);

// The same for a conversation: *ret_input and *ret_output are pipes of the caller's (close-on-exec).
bool ct_child_start(const struct ct_child *child, pid_t *ret_pid, int *ret_input, int *ret_output, struct ct_error *err);
// Waits until the deadline, then kills the group; always reaps. What is left of the group is killed in any case.
void ct_child_finish(pid_t pid, int64_t deadline_us, struct ct_child_result *ret_result);

// ---- environ.c

const char *ct_environ_get(char *const *environment, const char *name);
// A copy without the variables that would change what cuda-gdb or its Python does, and with those of settings ("NAME=value", ends in NULL).
char **ct_environ_for_gdb(struct ct_arena *arena, char *const *environment, const char *const *settings);
bool ct_environ_is_harmful(const char *entry);
// TMPDIR of a process, which cuda-gdb must share to attach to it; NULL: not set there or not readable.
const char *ct_environ_tmpdir_of(struct ct_arena *arena, pid_t pid);
// Folder that holds cudatrap/: CUDATRAP_GDBSCRIPTS, else where it is installed.
const char *ct_cudagdb_scripts_dir(void);

// ---- find.c

struct ct_candidate {
	const char *path, *found_by;
	bool explicit_choice;
};

// Where a cuda-gdb could be, in order, without trying any. root is "" but in tests: it stands in front of /usr/local and /opt.
struct ct_candidate *ct_cudagdb_candidates(struct ct_arena *arena, const char *root, const char *explicit_path, char *const *environment,
					   const char *target_exe, size_t *ret_count);
bool ct_cudagdb_find_in(struct ct_arena *arena, const char *root, const char *explicit_path, char *const *environment, const char *target_exe,
			int64_t timeout_ms, struct ct_cudagdb *ret_gdb, struct ct_cudagdb_search *ret_search, struct ct_error *err);
// Looks for name in the folders of path ("a:b"); NULL: none has it.
const char *ct_cudagdb_in_path(struct ct_arena *arena, const char *path, const char *name);

// ---- read.c

// Does log hold words whose meaning is known? Then err says it in ours.
bool ct_cudagdb_known_reason(const char *log, struct ct_error *err);
// Says in our words why there is no document: log is what cuda-gdb printed. Returns false.
bool ct_cudagdb_explain(const char *log, const struct ct_child_result *result, struct ct_error *err);
// A dump that the driver gave up on makes cuda-gdb die: found here, cheaply, before it is opened.
bool ct_cudagdb_check_core(const char *path, struct ct_error *err);
// Notes in scratch_dir what ct_cudagdb_clean_up() shall remove, should we be ended before we can.
void ct_cudagdb_note_session(const char *scratch_dir, const char *tmpdir, pid_t gdb_pid);

// ---- mi.c: the records of gdb's machine interface

enum ct_mi_kind { CT_MI_STRING, CT_MI_TUPLE, CT_MI_LIST };

struct ct_mi_value {
	const char *name;  // NULL for a plain list item
	enum ct_mi_kind kind;
	const char *text;  // of a string
	struct ct_mi_value *first, *next;  // of a tuple or list; of the parent
};

enum ct_mi_type { CT_MI_RESULT, CT_MI_ASYNC, CT_MI_STREAM, CT_MI_PROMPT, CT_MI_OTHER };

struct ct_mi_record {
	enum ct_mi_type type;
	bool has_token;
	uint32_t token;
	const char *class_name;  // "done", "error", "stopped"; NULL otherwise
	const char *text;        // of a stream record
	struct ct_mi_value *first;  // results
};

// One line without its newline. A line that is no MI is CT_MI_OTHER (the target's output may come in between); one that begins as a
// record and is broken is CT_FORMAT.
bool ct_mi_parse(struct ct_arena *arena, const char *line, size_t length, struct ct_mi_record *ret_record, struct ct_error *err);
const struct ct_mi_value *ct_mi_find(const struct ct_mi_value *first, const char *name);
const char *ct_mi_text(const struct ct_mi_value *first, const char *name);  // NULL when not there or no string

// ---- mi_session.c: asking

struct ct_mi_session {
	struct ct_arena *arena;
	int input, output;
	int64_t deadline_us;
	struct ct_str buffer;
	struct ct_str log;  // what was read, for ct_cudagdb_explain(); cut at CT_CUDAGDB_LOG_LIMIT
	uint32_t last_token;
};

// Sends a command, waits for its result record. A class other than done or connected is CT_UNAVAILABLE with gdb's message.
bool ct_mi_ask(struct ct_mi_session *session, const char *command, struct ct_mi_record *ret_record, struct ct_error *err);

// ---- mi_gpu.c: answers -> the GPU part

bool ct_mi_collect(struct ct_mi_session *session, const struct ct_cudagdb *gdb, struct ct_str *ret_json, struct ct_error *err);

// ---- run_mi.c

bool ct_cudagdb_collect_mi(const struct ct_cudagdb *gdb, const struct ct_cudagdb_job *job, struct ct_arena *arena, char *const *environment,
			   struct ct_str *ret_json, struct ct_error *err);

// ---- session.c

// -iex, before anything is loaded: cuda-gdb is silent until its scripts hand over.
#define CT_CUDAGDB_QUIET_START \
	"python import os, sys; sys.path.insert(0, os.environ['CUDATRAP_GDBSCRIPTS']); import cudatrap.handover; cudatrap.handover.be_quiet()"

// The command file for a cuda-gdb without Python, in scratch_dir. leave: quitting must not detach.
bool ct_cudagdb_write_plain(struct ct_arena *arena, const char *scratch_dir, bool leave, const char **ret_path, struct ct_error *err);

// ---- program.c

// What the kernel would execute for argv: scripts are replaced by the interpreter of their first line. environment's PATH is searched.
bool ct_program_resolve(struct ct_arena *arena, char *const *argv, char *const *environment, char ***ret_argv, struct ct_error *err);

#endif
