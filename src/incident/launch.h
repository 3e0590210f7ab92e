// Who launched the kernel, as the record of launches has it, and the CUDA call that failed. Part of incident.h, which includes it.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_INCIDENT_LAUNCH_H
#define CT_INCIDENT_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "incident/coordinates.h"

struct ct_host_frame;

// How sure it is that a launch is the one of the failing grid.
#define CT_CERTAINTIES(X)                                                             \
	X(NONE, "none")       /* no recorded launch fits */                           \
	X(SEVERAL, "several") /* launches from several places fit */                  \
	X(UNIQUE, "unique")   /* one place fits; a loop may have come by there often */

enum ct_certainty {
#define X(name, word) CT_CERTAINTY_##name,
	CT_CERTAINTIES(X)
#undef X
};
// As the word functions of incident.h.
const char *ct_certainty_word(enum ct_certainty certainty);
bool ct_certainty_parse(const char *word, enum ct_certainty *ret_certainty);

// What the other frames of a launch are to it.
#define CT_LAUNCH_ORIGINS(X)                                                                           \
	X(NONE, "none")                                                                         \
	X(FORWARD, "forward") /* the forward operation whose backward pass this launch is of */ \
	X(CALL, "backward-call") /* the call of backward() that this launch is part of; its forward is not known */ \
	X(CAPTURE, "capture") /* where the kernel was captured into the graph that was launched */

enum ct_launch_origin {
#define X(name, word) CT_LAUNCH_ORIGIN_##name,
	CT_LAUNCH_ORIGINS(X)
#undef X
};
const char *ct_launch_origin_word(enum ct_launch_origin origin);
bool ct_launch_origin_parse(const char *word, enum ct_launch_origin *ret_origin);

// Launches of one kernel from one place.
struct ct_launch {
	const char *name;    // of the kernel, demangled; NULL: not known, or a graph
	const char *symbol;  // mangled
	bool graph;          // cuGraphLaunch: the kernel is one of its nodes
	bool has_dims;
	struct ct_dim3 grid_dim, block_dim;
	bool has_cluster;
	struct ct_dim3 cluster_dim;
	uint32_t shared_bytes;  // dynamic
	uint64_t stream;        // handle; 0 and 1: the default stream, 2: the thread's own
	bool stream_of_thread;  // the thread's own default stream
	int64_t tid;            // host thread that launched it
	bool has_seconds_before;
	double seconds_before;  // the fault was noticed; of the newest of them
	uint64_t count;         // equal launches, 1 at least
	bool pending;           // the call had not returned
	bool arguments_equal;   // its argument bytes were compared with those of the failing grid, and are the same
	bool backward;          // launched within a backward pass
	enum ct_launch_origin origin;
	struct ct_host_frame *python;  // innermost first
	size_t n_python;
	struct ct_host_frame *native;  // return addresses, innermost first
	size_t n_native;
	struct ct_host_frame *origin_python;
	size_t n_origin_python;
};

// What was asked for, against what is allowed.
struct ct_limit {
	const char *what;  // "threads of a block"
	int64_t asked, limit;
	bool exceeded;
};

// A call of the driver that failed.
struct ct_failed_call {
	bool present;
	const char *call;     // "cuLaunchKernel"
	uint32_t error;       // CUresult
	const char *error_name;  // "CUDA_ERROR_INVALID_VALUE"; NULL: not known to this version
	const char *why;      // in words, with the numbers: "a block of 2048 threads, where 1024 are allowed"; NULL: not established
	struct ct_limit *limits;
	size_t n_limits;
	uint64_t n_later;     // calls that failed after it
	bool sticky;          // the context was lost with it: what failed later failed because of it
	bool went_on;         // the process launched kernels after it
	bool ignored;         // the command ended with status 0 in spite of it
	bool is_launch;
	struct ct_launch at;  // the launch itself, or who made the call; names and dimensions only when is_launch
};

enum { CT_MAX_CANDIDATES = 16, CT_MAX_LAUNCH_HISTORY = 1024, CT_MAX_LIMITS = 32 };

struct ct_launched {
	bool present;
	enum ct_certainty certainty;
	const char *why;  // how it was told, or why nothing fits; one sentence
	struct ct_launch *candidates;  // the newest first, at most CT_MAX_CANDIDATES
	size_t n_candidates;
	bool candidates_cut;
	struct ct_launch *history;  // that launch's stream: it and those before it, the newest first
	size_t n_history;
	uint64_t n_recorded;  // launches in the record
	struct ct_failed_call failed_call;
};

#endif
