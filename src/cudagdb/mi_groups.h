// What mi_gpu.c and mi_groups.c share.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_MI_GROUPS_H
#define CT_MI_GROUPS_H

#include <jansson.h>

#include "incident/incident.h"

// Threads that follow each other, all at one PC: a row of -cuda-info-threads.
struct ct_mi_span {
	struct ct_dim3 from_block, to_block, from_thread, to_thread;
	uint64_t count, pc;
	const char *file;
	uint32_t line;
};

// All of one kernel, in the order of blocks, then threads.
struct ct_mi_spans {
	bool has_dims;
	struct ct_dim3 grid_dim, block_dim;
	struct ct_mi_span *spans;
	size_t n_spans;
};

void ct_mi_set_hex(json_t *object, const char *key, uint64_t value);
json_t *ct_mi_dim3_json(struct ct_dim3 d);

// The threads that stand at pc, as a group of the GPU part. threads must have its dims.
json_t *ct_mi_group_at(const struct ct_mi_spans *threads, uint64_t pc, const char *reason);
// The lanes (rows of the GPU part) of one warp as a group: of the other warps' lanes the exceptions are not known.
json_t *ct_mi_group_of_lanes(const struct ct_mi_spans *threads, uint64_t pc, json_t *lanes);

#endif
