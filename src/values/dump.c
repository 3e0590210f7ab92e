// Values out of a dump: its memory and the bytes of its failing kernel's parameters.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "values/values_priv.h"

static size_t read_memory(const void *context, uint64_t address, void *bytes, size_t size)
{
	return ct_gpucore_read_some(context, address, bytes, size);
}

// Of the kernel that ct_gpucore_fill() found to be the failing one.
static bool find_grid(const struct ct_gpucore *core, const struct ct_gpu *gpu, size_t *ret_index)
{
	struct ct_gpucore_device device;
	for (size_t i = 0; gpu->has_kernel && gpu->kernel.has_grid_id && ct_gpucore_device(core, i, &device); i++)
		if (device.id == gpu->device.index && ct_gpucore_find_grid(core, i, gpu->kernel.grid_id, ret_index))
			return true;
	return false;
}

void ct_values_of_dump(struct ct_gpucore *core, struct ct_incident *incident, const struct ct_rules *rules)
{
	struct ct_values_source source = {.read = read_memory, .context = core};
	size_t grid;
	if (find_grid(core, &incident->gpu, &grid) && !ct_gpucore_params(core, grid, &source.params, &source.n_params))
		source.params = NULL;
	ct_values_read(incident, rules, &source);
}

void ct_values_with(struct ct_gpucore *core, struct ct_incident *incident, const char *dir)
{
	CT_AUTO(ct_rules_done) struct ct_rules rules = CT_RULES_INIT;
	ct_values_of_dump(core, incident, ct_rules_read(dir, &rules, NULL) ? &rules : NULL);
}
