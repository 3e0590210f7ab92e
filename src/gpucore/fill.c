// A dump's part of the incident.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>
#include <inttypes.h>

#include "gpucore/gpucore_priv.h"

struct filling {
	struct ct_gpucore *core;
	struct ct_incident *incident;
	struct ct_core_groups groups;
};

static const char *clean(struct ct_incident *in, const char *text)
{
	return *text ? ct_arena_clean(&in->arena, text, strnlen(text, 4096)) : NULL;
}

static void fill_device(struct filling *f, size_t index)
{
	struct ct_gpucore_device d;
	struct ct_device *out = &f->incident->gpu.device;
	if (!ct_gpucore_device(f->core, index, &d))
		return;
	out->has_index = true;
	out->index = d.id;
	out->name = clean(f->incident, d.name);
	out->sm_type = clean(f->incident, d.sm_type);
	out->has_n_sms = true;
	out->n_sms = d.n_sms;
	// The dump has bus and device, not the domain: written as it is known.
	out->pci = ct_arena_printf(&f->incident->arena, "%02x:%02x.0", d.pci_bus, d.pci_device);
}

static void fill_kernel(struct filling *f, const struct ct_gpucore_grid *grid, struct ct_kernel *out)
{
	struct ct_arena *arena = &f->incident->arena;
	struct ct_cubin_function kernel;
	const struct ct_cubin *image = ct_core_image_at(f->core, grid->module, grid->entry_pc);
	*out = (struct ct_kernel){
		.has_grid_id = true,
		.grid_id = grid->grid_id,
		.has_dims = grid->grid_dim.x && grid->block_dim.x,
		.grid_dim = grid->grid_dim,
		.block_dim = grid->block_dim,
		.has_cluster = grid->cluster_dim.x && grid->cluster_dim.y && grid->cluster_dim.z,
		.cluster_dim = grid->cluster_dim,
		// Not launch_tid: attrHostTid is the driver's own event thread "cuda-EvtHandlr", not the launching one (driver 580.159.04, PyTorch 2.11, seen).
		.has_params_offset = grid->params_offset != 0,
		.params_offset = grid->params_offset,
	};
	if (image && ct_cubin_function_at(image, grid->entry_pc, &kernel)) {
		// A device function that starts where its kernel does would be found too: take the entry.
		if (!kernel.is_entry)
			ct_cubin_kernel_at(image, grid->entry_pc, &kernel);
		out->symbol = clean(f->incident, kernel.symbol);
		out->name = ct_cubin_demangle(arena, kernel.symbol, &f->core->names);
	} else {
		ct_incident_add_note(f->incident, "The code of grid %" PRIu64 " is not in the dump, so its kernel has no name.", grid->grid_id);
	}
}

enum { MAX_OTHER_KERNELS = 128 };  // that many grids are on a device at once at most (CUDA C++ guide, resident grids)

// The failing grid: that of the first group; without groups the only one there is.
static void fill_kernels(struct filling *f)
{
	struct ct_gpu *gpu = &f->incident->gpu;
	size_t failing = SIZE_MAX;
	if (f->groups.n_rows) {
		const struct ct_gpucore_lane *l = &f->groups.rows[0].first;
		if (!ct_gpucore_find_grid(f->core, l->device, l->grid_id, &failing))
			failing = SIZE_MAX;
	} else if (f->core->n_grids == 1) {
		failing = 0;
	}
	struct ct_gpucore_grid grid;
	for (size_t i = 0; i < f->core->n_grids && gpu->n_other_kernels < MAX_OTHER_KERNELS; i++) {
		if (i == failing || !ct_gpucore_grid(f->core, i, &grid))
			continue;
		gpu->other_kernels = ct_arena_grow(&f->incident->arena, gpu->other_kernels, &gpu->n_other_kernels, sizeof *gpu->other_kernels);
		fill_kernel(f, &grid, &gpu->other_kernels[gpu->n_other_kernels - 1]);
	}
	if (failing == SIZE_MAX || !ct_gpucore_grid(f->core, failing, &grid))
		return;
	gpu->has_kernel = true;
	fill_kernel(f, &grid, &gpu->kernel);
	ct_core_arguments(f->core, failing, gpu->kernel.name, f->incident);
}

static void fill_groups(struct filling *f)
{
	struct ct_gpu *gpu = &f->incident->gpu;
	gpu->n_groups = f->groups.n_rows;
	gpu->groups = f->groups.n_rows ? ct_arena_array(&f->incident->arena, f->groups.n_rows, sizeof *gpu->groups) : NULL;
	for (size_t i = 0; i < f->groups.n_rows; i++) {
		struct ct_core_group *g = &f->groups.rows[i];
		if (i < CT_CORE_MAX_STACKS)
			ct_core_frames(f->core, &f->incident->arena, g, &g->group.frames, &g->group.n_frames);
		if (i == 0)
			ct_core_accesses(f->core, g);
		gpu->groups[i] = g->group;
	}
	gpu->sm_exceptions = f->groups.lost;
	gpu->n_sm_exceptions = f->groups.n_lost;
	if (f->groups.n_left_out)
		ct_incident_add_note(f->incident, "Threads stand at %zu more places; the %d with most warps are listed.", f->groups.n_left_out,
				     CT_CORE_MAX_GROUPS);
}

static enum ct_fault_kind kind_of(const struct ct_core_groups *g)
{
	const struct ct_group *first = g->n_rows ? &g->rows[0].group : NULL;
	if (first && first->has_exception)
		return first->exception == CT_CORE_ASSERT ? CT_FAULT_ASSERT : CT_FAULT_EXCEPTION;
	if (g->n_lost)
		return g->lost_all_assert ? CT_FAULT_ASSERT : CT_FAULT_EXCEPTION;
	if (first)
		return first->reason == CT_GROUP_TRAP_PC ? CT_FAULT_TRAP : CT_FAULT_HANG;
	return CT_FAULT_UNKNOWN;
}

static bool read_memory(void *context, uint64_t address, void *bytes, size_t size)
{
	return ct_gpucore_read_global(context, address, bytes, size);
}

// The assert of the first group, from the call that its lanes stand behind: theirs, or the wrapper's caller in unoptimised code.
static bool decode_assert(struct filling *f, struct ct_cubin_assert *ret_assert, struct ct_error *err)
{
	const struct ct_core_group *g = &f->groups.rows[0];
	uint64_t module = ct_core_module_of(f->core, g->first.device, g->first.grid_id), pc = g->group.pc;
	const struct ct_cubin *image = ct_core_image_at(f->core, module, pc);
	if (image && ct_cubin_in_assert_wrapper(image, pc)) {
		if (!ct_core_caller(f->core, &g->first, module, &pc))
			return ct_fail(err, CT_UNAVAILABLE, "the caller of __assert_fail is not in the dump");
		image = ct_core_image_at(f->core, module, pc);
	}
	if (!image)
		return ct_fail(err, CT_UNAVAILABLE, "the code at 0x%" PRIx64 " is not in the dump", pc);
	return ct_cubin_assert_at(image, pc, read_memory, f->core, &f->incident->arena, ret_assert, err);
}

static void fill_assert(struct filling *f)
{
	struct ct_assert *out = &f->incident->assertion;
	struct ct_cubin_assert a;
	struct ct_error err = CT_ERROR_INIT;
	if (out->present || f->groups.n_rows == 0 || f->incident->kind != CT_FAULT_ASSERT)
		return;
	if (!decode_assert(f, &a, &err)) {
		ct_incident_add_note(f->incident, "The assert's text could not be read from the code: %s.", err.text);
		return;
	}
	if (a.undecoded)
		ct_incident_add_note(f->incident, "Of the assert, not all could be read from the code: %s.", a.undecoded);
	if (!a.file && !a.expression)
		return;
	const struct ct_group *g = &f->groups.rows[0].group;
	*out = (struct ct_assert){
		.present = true, .source = "image", .file = a.file, .line = a.has_line ? a.line : 0, .function = a.function, .expression = a.expression,
		.block_runs = g->block_runs, .n_block_runs = g->n_block_runs, .block_runs_cut = g->block_runs_cut,
		.thread_runs = g->thread_runs, .n_thread_runs = g->n_thread_runs, .thread_runs_cut = g->thread_runs_cut,
		.has_first = g->n_lanes != 0,
	};
	if (out->has_first)
		out->first = g->lanes[0].at;
}

static bool has_environment(const struct ct_incident *incident, const char *name)
{
	for (size_t i = 0; i < incident->n_environment; i++)
		if (strcmp(incident->environment[i].name, name) == 0)
			return true;
	return false;
}

static void fill_meta(struct filling *f)
{
	uint32_t minimum = ct_core_row_minimum(CT_CORE_META_DATA);
	if (!f->core->meta)
		return;
	Elf64_Shdr s = ct_core_section(f->core, f->core->meta);
	if (s.sh_size < minimum)  // sh_entsize is 0 there (driver 580): the section is one row
		return;
	struct ct_row r = {f->core->source.bytes + s.sh_offset, s.sh_size};
	char text[32];
	if (ct_row_u32(r, CT_META_DRIVER) && !has_environment(f->incident, "driver")) {  // the machine's own word is longer: 580.159.04
		snprintf(text, sizeof text, "%u.%u", ct_row_u32(r, CT_META_DRIVER), ct_row_u32(r, CT_META_DRIVER_MINOR));
		ct_incident_add_environment(f->incident, "driver", text);
	}
	if (ct_row_u32(r, CT_META_CUDA)) {
		snprintf(text, sizeof text, "%u.%u", ct_row_u32(r, CT_META_CUDA), ct_row_u32(r, CT_META_CUDA_MINOR));
		ct_incident_add_environment(f->incident, "driver CUDA version", text);
	}
	if (f->incident->time_us == 0)
		f->incident->time_us = (int64_t)ct_row_u32(r, CT_META_TIME) * 1000000;
}

bool ct_gpucore_fill(struct ct_gpucore *core, struct ct_incident *incident, struct ct_error *err)
{
	int64_t start_us = ct_now_us();
	struct filling f = {.core = core, .incident = incident};
	ct_core_group_lanes(core, &incident->arena, &f.groups);
	bool empty = f.groups.n_lanes == 0 && f.groups.n_lost == 0 && core->n_grids == 0;
	if (!empty) {
		incident->gpu = (struct ct_gpu){.present = true, .source = "core dump"};
		size_t device = f.groups.n_rows ? f.groups.rows[0].first.device : f.groups.n_lost ? f.groups.lost_device : 0;
		fill_device(&f, device);
		fill_kernels(&f);
		fill_groups(&f);
		incident->kind = kind_of(&f.groups);
		fill_assert(&f);
		fill_meta(&f);
	}
	double ms = (double)(ct_now_us() - start_us) / 1000;
	CT_AUTO(ct_auto_str) struct ct_str detail = CT_STR_INIT;
	if (empty)
		ct_str_add(&detail, "no kernel was on a GPU when the dump was written");
	if (core->n_damaged)
		ct_str_addf(&detail, "%sparts of the dump are damaged and were left out: %s%s", empty ? "; " : "", core->damage, core->n_damaged > 1 ? " and others" : "");
	ct_incident_add_collector(incident, "gpu", empty ? CT_COLLECTOR_FAILED : core->n_damaged ? CT_COLLECTOR_PARTIAL : CT_COLLECTOR_OK, ms,
				  detail.length ? ct_str_text(&detail) : NULL);
	return !empty || ct_fail(err, CT_UNAVAILABLE, "no kernel was on a GPU when the dump was written");
}
