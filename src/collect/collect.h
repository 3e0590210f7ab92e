// The collectors of one fault, run in a process of their own: whatever one of them does, the target's supervisor goes on. Each has
// its deadline, may fail alone, and leaves a row in the incident. What is known so far is on disk after every step.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_COLLECT_H
#define CT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"
#include "cudagdb/cudagdb.h"
#include "incident/incident.h"

struct ct_collect_job {
	struct ct_incident *incident;  // filled in place: in a forked helper that is its own copy
	pid_t pid;                     // the process that waits in the driver
	int64_t deadline_us;           // for all of it, ct_now_us() scale
	const char *scratch_dir;       // private, exists
	const char *agent_dir;         // NULL: no agent in this run
	const struct ct_cudagdb *gdb;  // NULL: looked for when it is needed, which costs nothing as long as nothing fails
	char *const *environment;      // the target's, for that search
	bool resume;   // let the target go on after it was read
	bool verbose;
	bool core;     // engine core: the driver is writing a dump, to dump_fd (a FIFO's read end) or, when that is -1, to dump_path
	int dump_fd;
	const char *dump_path;
	bool keep_dump;  // as scratch_dir/CT_COLLECT_DUMP
	uint64_t dump_limit_bytes;
	bool anomaly;                // PyTorch's anomaly detection was asked for
	const char *record_dir;      // where the agent records launches; NULL: it does not
	const char *record_missing;  // why not, when it was wanted; NULL: it was not
	unsigned history;            // launches of the failing kernel's stream to keep
	bool leave_gpu;  // a session reads the GPU itself
	bool live;     // engine live: a cuda-gdb of ours holds the process already and has written its part to scratch_dir
};

// Name of the document in scratch_dir that the collectors write, again after every step.
#define CT_COLLECT_DOCUMENT "collected.json"

#define CT_COLLECT_DUMP "gpu.nvcore"

// Runs all collectors; meant as the entry of ct_supervisor_spawn_helper(). Returns an exit status: 0 when the document is complete,
// 1 when it could not be written.
int ct_collect_run(const struct ct_collect_job *job);

// Reads what ct_collect_run() left: the job's incident with all that was found. *ret_incident is the caller's.
bool ct_collect_read(const char *scratch_dir, struct ct_incident **ret_incident, struct ct_error *err);

// Looks the failing kernel up in the record of launches, after it was read; its own row says how far that went. Nothing when none was wanted.
// ct_collect_run() does it, except where a session reads the GPU (leave_gpu): then whoever takes the session's part does.
void ct_collect_launches(const struct ct_collect_job *job, struct ct_incident *incident);

// Facts about a process that need no stop: command line, working directory, executable, and the telling environment variables
// (ranks, CUDA_*, jobs), library versions among the mapped files, the driver's version. Adds a collector row.
void ct_collect_environment(struct ct_incident *incident, pid_t pid);

// The value of an environment variable, NULL when it is not set.
typedef const char *ct_rank_lookup(const void *context, const char *name);
// What the launchers' variables say about a process: torchrun, Slurm, Open MPI, PMI, PMIx, Kubernetes. False, and *ret_rank left alone,
// when there is neither a rank nor a job among them.
bool ct_collect_rank(struct ct_arena *arena, ct_rank_lookup *lookup, const void *context, struct ct_rank *ret_rank);
// A ct_rank_lookup whose context is a const struct ct_str holding /proc/PID/environ.
const char *ct_rank_lookup_block(const void *context, const char *name);

#endif
