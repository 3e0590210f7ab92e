// What the dump lists: kernels, devices, SMs, modules, tables.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>

#include "shell/shell_priv.h"

static void print_kernel(struct ct_shell_call *call, bool has_id, uint64_t id, const char *name, struct ct_dim3 grid, struct ct_dim3 block, int64_t tid)
{
	if (has_id)
		fprintf(call->out, "%-4" PRIu64 " ", id);
	fprintf(call->out, "grid %s x block %s", ct_shell_dim3(&call->arena, grid), ct_shell_dim3(&call->arena, block));
	if (tid)
		fprintf(call->out, ", launched by host thread %" PRId64, tid);
	fprintf(call->out, "\n     %s\n", name ? ct_shell_flat(&call->arena, name) : "its name is not known");
}

bool ct_shell_run_kernels(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_gpu *gpu = &call->shell->incident->gpu;
	const struct ct_gpucore *core = call->shell->core;
	struct ct_gpucore_grid g;
	for (size_t i = 0; core && i < ct_gpucore_n_grids(core); i++)
		if (ct_gpucore_grid(core, i, &g))
			print_kernel(call, true, g.grid_id, ct_gpucore_kernel(call->shell->core, i, &call->arena, NULL), g.grid_dim, g.block_dim, g.host_tid);
	if (core)
		return ct_gpucore_n_grids(core) || ct_fail(err, CT_UNAVAILABLE, "no kernel was on a GPU when the dump was written");
	if (!gpu->has_kernel)
		return ct_fail(err, CT_UNAVAILABLE, "no kernel is known: nothing was read from the GPU");
	for (size_t i = 0; i <= gpu->n_other_kernels; i++) {
		const struct ct_kernel *k = i ? &gpu->other_kernels[i - 1] : &gpu->kernel;
		print_kernel(call, k->has_grid_id, k->grid_id, k->name, k->grid_dim, k->block_dim, k->has_launch_tid ? k->launch_tid : 0);
	}
	return true;
}

bool ct_shell_run_devices(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_device *one = &call->shell->incident->gpu.device;
	struct ct_gpucore_device d;
	if (!call->shell->core) {
		if (!one->has_index && !one->name)
			return ct_fail(err, CT_UNAVAILABLE, "no device is known: nothing was read from the GPU");
		fprintf(call->out, "%" PRIu32 "  %s %s %s\n", one->index, ct_shell_flat(&call->arena, one->name), ct_shell_flat(&call->arena, one->sm_type),
			ct_shell_flat(&call->arena, one->pci));
		return true;
	}
	for (size_t i = 0; i < ct_gpucore_n_devices(call->shell->core); i++)
		if (ct_gpucore_device(call->shell->core, i, &d))
			fprintf(call->out, "%" PRIu32 "  %s %s, PCI %02" PRIx32 ":%02" PRIx32 ".0, %" PRIu32 " SMs of %" PRIu32 " warps of %" PRIu32 " lanes\n", d.id,
				ct_shell_flat(&call->arena, d.name), ct_shell_flat(&call->arena, d.sm_type), d.pci_bus, d.pci_device, d.n_sms, d.warps_per_sm,
				d.lanes_per_warp);
	return true;
}

struct sm {
	uint32_t device, sm;
	size_t n_blocks, n_warps, n_threads, n_exceptions;
	size_t block, warp;  // that passed by last
};

static int by_sm(const void *a, const void *b)
{
	const struct sm *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->sm > y->sm) - (x->sm < y->sm);
}

struct sms {
	struct ct_arena *arena;
	struct sm *rows;
	size_t n;
};

// The walk gives an SM's lanes one after the other, blocks and warps together.
static bool count_lane(void *context, const struct ct_gpucore_lane *l)
{
	struct sms *s = context;
	struct sm *last = s->n ? &s->rows[s->n - 1] : NULL;
	if (!last || last->device != l->hw.device || last->sm != l->hw.sm) {
		s->rows = ct_arena_grow(s->arena, s->rows, &s->n, sizeof *s->rows);
		last = &s->rows[s->n - 1];
		*last = (struct sm){.device = l->hw.device, .sm = l->hw.sm, .block = SIZE_MAX, .warp = SIZE_MAX};
	}
	last->n_blocks += last->block != l->block_serial;
	last->n_warps += last->warp != l->warp_serial;
	last->block = l->block_serial;
	last->warp = l->warp_serial;
	last->n_threads++;
	last->n_exceptions += l->exception != 0;
	return true;
}

bool ct_shell_run_sms(struct ct_shell_call *call, struct ct_error *err)
{
	struct sms s = {.arena = &call->arena};
	if (!call->shell->core)
		return ct_shell_dump_only(err, "the SMs");
	ct_gpucore_each_lane(call->shell->core, count_lane, &s);
	if (s.n == 0)
		return ct_fail(err, CT_UNAVAILABLE, "no SM had a thread when the dump was written");
	qsort(s.rows, s.n, sizeof *s.rows, by_sm);
	fputs("device  SM  blocks  warps  threads  with an exception\n", call->out);
	for (size_t i = 0; i < s.n; i++)
		fprintf(call->out, "%6" PRIu32 " %3" PRIu32 " %7zu %6zu %8zu %8zu\n", s.rows[i].device, s.rows[i].sm, s.rows[i].n_blocks, s.rows[i].n_warps,
			s.rows[i].n_threads, s.rows[i].n_exceptions);
	return true;
}

bool ct_shell_run_modules(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_gpucore *core = call->shell->core;
	const uint8_t *bytes;
	size_t size = 0;
	if (!core)
		return ct_shell_dump_only(err, "code images");
	for (size_t i = 0; i < ct_gpucore_n_modules(core); i++) {
		uint64_t module = ct_gpucore_module(core, i);
		struct ct_cubin *cubin = NULL;
		bool ok = ct_gpucore_image(core, module, &bytes, &size) && ct_cubin_open(bytes, size, &cubin, NULL);
		fprintf(call->out, "0x%" PRIx64 "  %zu bytes", module, size);
		if (ok)
			fprintf(call->out, ", sm_%" PRIu32 "\n", ct_cubin_sm(cubin));
		else
			fputs(", damaged\n", call->out);
		ct_cubin_free(cubin);
	}
	return ct_gpucore_n_modules(core) || ct_fail(err, CT_UNAVAILABLE, "no code image is in this dump");
}

bool ct_shell_run_raw(struct ct_shell_call *call, struct ct_error *err)
{
	if (!call->shell->core)
		return ct_shell_dump_only(err, "tables");
	return ct_gpucore_raw(call->shell->core, call->out, err);
}
