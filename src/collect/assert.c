// What a failed assert says, from the code that was at work: the driver prints its line only when the host next synchronises, which may
// be never.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <unistd.h>

#include "collect/collect_priv.h"
#include "cubin/cubin.h"
#include "cudagdb/cudagdb.h"

enum { MAX_IMAGE_BYTES = 256 << 20, ASSERT_EXCEPTION = 12 };  // CUDBG_EXCEPTION_WARP_ASSERT of cudadebugger.h

// Where the call of the assert handler returns to: in unoptimised code the lanes stand in its wrapper.
static bool return_address(const struct ct_cubin *image, const struct ct_group *g, uint64_t *ret_pc)
{
	*ret_pc = g->pc;
	if (!ct_cubin_in_assert_wrapper(image, g->pc))
		return true;
	if (g->n_frames < 2)
		return false;
	*ret_pc = g->frames[1].pc;
	return true;
}

static void decode(const struct ct_cubin *image, struct ct_incident *incident)
{
	const struct ct_group *g = &incident->gpu.groups[0];
	struct ct_error err = CT_ERROR_INIT;
	struct ct_cubin_assert a;
	uint64_t pc = 0;
	if (!return_address(image, g, &pc) || !ct_cubin_assert_at(image, pc, NULL, NULL, &incident->arena, &a, &err) || (!a.file && !a.expression))
		return;
	incident->assertion = (struct ct_assert){
		.present = true, .source = "image", .file = a.file, .line = a.has_line ? a.line : 0, .function = a.function, .expression = a.expression,
		.block_runs = g->block_runs, .n_block_runs = g->n_block_runs, .block_runs_cut = g->block_runs_cut,
		.thread_runs = g->thread_runs, .n_thread_runs = g->n_thread_runs, .thread_runs_cut = g->thread_runs_cut,
		.has_first = g->n_lanes != 0,
	};
	if (incident->assertion.has_first)
		incident->assertion.first = g->lanes[0].at;
}

void ct_collect_assert(const char *scratch_dir, struct ct_incident *incident)
{
	const struct ct_gpu *gpu = &incident->gpu;
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT, bytes = CT_STR_INIT;
	CT_AUTO(ct_cubin_auto) struct ct_cubin *image = NULL;
	if (incident->assertion.present || gpu->n_groups == 0 || !gpu->groups[0].has_exception || gpu->groups[0].exception != ASSERT_EXCEPTION)
		return;
	ct_str_addf(&path, "%s/" CT_CUDAGDB_IMAGE, scratch_dir);
	bool read = ct_read_file(ct_str_text(&path), MAX_IMAGE_BYTES, &bytes, NULL);
	unlink(ct_str_text(&path));
	if (read && ct_cubin_open(ct_str_text(&bytes), bytes.length, &image, NULL))
		decode(image, incident);
}
