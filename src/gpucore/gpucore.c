// Opening a dump, and its devices, grids and modules.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>

#include "gpucore/gpucore_priv.h"

// Far above what programs load (PyTorch: 45); each may have to be searched for a PC.
enum { MAX_IMAGES = 16384 };

static int by_key(const void *a, const void *b)
{
	const struct ct_grid_key *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->grid_id > y->grid_id) - (x->grid_id < y->grid_id);
}

static void list_images(struct ct_gpucore *core)
{
	struct ct_table modules;
	size_t n_images = 0;
	core->images = ct_xrealloc(NULL, (core->n_images + 1) * sizeof *core->images);
	for (uint32_t i = 1; core->n_images && i < core->n_sections; i++) {
		Elf64_Shdr s = ct_core_section(core, i);
		if (ct_core_type(&s) != CT_CORE_RELF_IMG || !ct_core_in_file(core, &s) || n_images == MAX_IMAGES)
			continue;
		if (ct_table_open(core, s.sh_link, CT_CORE_MOD_TABLE, &modules) && s.sh_info < modules.n_rows)
			core->images[n_images++] = (struct ct_image){.module = ct_row_u64(ct_table_row(&modules, s.sh_info), 0), .section = i};
		else
			ct_gpucore_damaged(core, i, "is the image of no module");
	}
	core->n_images = n_images;
}

static void list_grids(struct ct_gpucore *core)
{
	struct ct_table devices, grids;
	size_t room = 0;
	if (!ct_table_open(core, core->devices, CT_CORE_DEV_TABLE, &devices))
		return;
	for (uint32_t i = core->first_child[core->devices]; i; i = core->next_sibling[i]) {
		if (!ct_table_open(core, i, CT_CORE_GRID_TABLE, &grids) || grids.parent_row >= devices.n_rows)
			continue;
		for (uint64_t r = 0; r < grids.n_rows; r++) {
			if (core->n_grids == room) {
				room = room ? room * 2 : 8;
				core->grids = ct_xrealloc(core->grids, room * sizeof *core->grids);
				core->grid_keys = ct_xrealloc(core->grid_keys, room * sizeof *core->grid_keys);
			}
			core->grids[core->n_grids] = (struct ct_grid_row){.section = i, .row = (uint32_t)r, .device = grids.parent_row};
			core->grid_keys[core->n_grids] = (struct ct_grid_key){grids.parent_row, ct_row_u64(ct_table_row(&grids, r), CT_GRID_ID), core->n_grids};
			core->n_grids++;
		}
	}
	if (core->n_grids > 1)
		qsort(core->grid_keys, core->n_grids, sizeof *core->grid_keys, by_key);
}

static bool open_source(struct ct_source source, struct ct_gpucore **ret_core, struct ct_error *err)
{
	CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = ct_xrealloc(NULL, sizeof *core);
	*core = (struct ct_gpucore){.source = source, .names = CT_DEMANGLE_BUDGET_INIT};
	if (!ct_container_index(core, err))
		return false;
	struct ct_table devices;
	if (!ct_table_open(core, core->devices, CT_CORE_DEV_TABLE, &devices) || devices.n_rows == 0)
		return ct_fail(err, CT_FORMAT, "the dump describes no GPU%s%s", core->n_damaged ? ": " : "", core->damage);
	ct_memory_index(core);
	list_images(core);
	list_grids(core);
	*ret_core = core;
	core = NULL;
	return true;
}

bool ct_gpucore_open_bytes(const void *bytes, size_t size, struct ct_gpucore **ret_core, struct ct_error *err)
{
	return open_source((struct ct_source){.bytes = bytes, .size = size}, ret_core, err);
}

bool ct_gpucore_open_fd(int fd, const char *name, uint64_t limit_bytes, struct ct_gpucore **ret_core, struct ct_error *err)
{
	struct ct_source source;
	if (!ct_source_open(fd, name, limit_bytes, &source, err))
		return false;
	return open_source(source, ret_core, err) || ct_fail_in(err, "%s", name);
}

bool ct_gpucore_open(const char *path, struct ct_gpucore **ret_core, struct ct_error *err)
{
	if (strcmp(path, "-") == 0)
		return ct_gpucore_open_fd(STDIN_FILENO, "standard input", 0, ret_core, err);
	CT_AUTO(ct_auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ct_fail_errno(err, "%s", path);
	return ct_gpucore_open_fd(fd, path, 0, ret_core, err);
}

void ct_gpucore_free(struct ct_gpucore *core)
{
	if (!core)
		return;
	for (size_t i = 0; core->images && i < core->n_images; i++)
		ct_cubin_free(core->images[i].cubin);
	free(core->images);
	free(core->memory);
	free(core->grids);
	free(core->grid_keys);
	free(core->first_child);
	free(core->next_sibling);
	ct_source_close(&core->source);
	free(core);
}

void ct_gpucore_auto(struct ct_gpucore **core)
{
	ct_gpucore_free(*core);
}

size_t ct_gpucore_n_sections(const struct ct_gpucore *core)
{
	return core->n_sections;
}

const char *ct_gpucore_damage(const struct ct_gpucore *core)
{
	return core->n_damaged ? core->damage : NULL;
}

size_t ct_gpucore_n_devices(const struct ct_gpucore *core)
{
	struct ct_table t;
	return ct_table_open(core, core->devices, CT_CORE_DEV_TABLE, &t) ? (size_t)t.n_rows : 0;
}

bool ct_gpucore_device(const struct ct_gpucore *core, size_t index, struct ct_gpucore_device *ret_device)
{
	struct ct_table t;
	if (!ct_table_open(core, core->devices, CT_CORE_DEV_TABLE, &t) || index >= t.n_rows)
		return false;
	struct ct_row r = ct_table_row(&t, index);
	*ret_device = (struct ct_gpucore_device){
		.name = ct_core_text(core, ct_row_u64(r, CT_DEV_NAME)),
		.type = ct_core_text(core, ct_row_u64(r, CT_DEV_TYPE)),
		.sm_type = ct_core_text(core, ct_row_u64(r, CT_DEV_SM_TYPE)),
		.id = ct_row_u32(r, CT_DEV_ID),
		.pci_bus = ct_row_u32(r, CT_DEV_PCI_BUS),
		.pci_device = ct_row_u32(r, CT_DEV_PCI_DEVICE),
		.n_sms = ct_row_u32(r, CT_DEV_N_SMS),
		.warps_per_sm = ct_row_u32(r, CT_DEV_WARPS),
		.lanes_per_warp = ct_row_u32(r, CT_DEV_LANES),
		.sm_major = ct_row_u32(r, CT_DEV_SM_MAJOR),
		.sm_minor = ct_row_u32(r, CT_DEV_SM_MINOR),
		.instruction_size = ct_row_u32(r, CT_DEV_INSTRUCTION),
	};
	return true;
}

size_t ct_gpucore_n_grids(const struct ct_gpucore *core)
{
	return core->n_grids;
}

bool ct_gpucore_grid(const struct ct_gpucore *core, size_t index, struct ct_gpucore_grid *ret_grid)
{
	struct ct_table t;
	if (index >= core->n_grids || !ct_table_open(core, core->grids[index].section, CT_CORE_GRID_TABLE, &t))
		return false;
	struct ct_row r = ct_table_row(&t, core->grids[index].row);
	*ret_grid = (struct ct_gpucore_grid){
		.device = core->grids[index].device,
		.grid_id = ct_row_u64(r, CT_GRID_ID),
		.context = ct_row_u64(r, CT_GRID_CONTEXT),
		.function = ct_row_u64(r, CT_GRID_FUNCTION),
		.entry_pc = ct_row_u64(r, CT_GRID_ENTRY),
		.module = ct_row_u64(r, CT_GRID_MODULE),
		.parent_grid_id = ct_row_u64(r, CT_GRID_PARENT),
		.params_offset = (uint32_t)ct_row_u64(r, CT_GRID_PARAMS),
		.kernel_type = ct_row_u32(r, CT_GRID_TYPE),
		.origin = ct_row_u32(r, CT_GRID_ORIGIN),
		.status = ct_row_u32(r, CT_GRID_STATUS),
		.grid_dim = ct_row_dim3(r, CT_GRID_DIM),
		.block_dim = ct_row_dim3(r, CT_GRID_BLOCK),
		.launch_blocking = ct_row_u32(r, CT_GRID_BLOCKING) != 0,
		.host_tid = ct_row_u32(r, CT_GRID_TID),
		.cluster_dim = ct_row_dim3(r, CT_GRID_CLUSTER),
	};
	return true;
}

bool ct_gpucore_find_grid(const struct ct_gpucore *core, size_t device, uint64_t grid_id, size_t *ret_index)
{
	struct ct_grid_key key = {.device = device, .grid_id = grid_id};
	const struct ct_grid_key *k = core->n_grids ? bsearch(&key, core->grid_keys, core->n_grids, sizeof key, by_key) : NULL;
	if (k)
		*ret_index = k->index;
	return k != NULL;
}

static bool section_bytes(const struct ct_gpucore *core, uint32_t section, const uint8_t **ret_bytes, size_t *ret_size)
{
	Elf64_Shdr s = ct_core_section(core, section);
	*ret_bytes = core->source.bytes + s.sh_offset;
	*ret_size = s.sh_size;
	return true;
}

bool ct_gpucore_params(const struct ct_gpucore *core, size_t grid_index, const uint8_t **ret_bytes, size_t *ret_size)
{
	if (grid_index >= core->n_grids)
		return false;
	const struct ct_grid_row *g = &core->grids[grid_index];
	uint32_t section = ct_core_child(core, g->section, CT_CORE_PARAM_MEM, g->row);
	return section && section_bytes(core, section, ret_bytes, ret_size);
}

bool ct_gpucore_image(const struct ct_gpucore *core, uint64_t module, const uint8_t **ret_bytes, size_t *ret_size)
{
	for (size_t i = 0; i < core->n_images; i++)
		if (core->images[i].module == module)
			return section_bytes(core, core->images[i].section, ret_bytes, ret_size);
	return false;
}

static struct ct_cubin *open_image(struct ct_gpucore *core, struct ct_image *image)
{
	const uint8_t *bytes;
	size_t size;
	if (!image->tried && section_bytes(core, image->section, &bytes, &size) && !ct_cubin_open(bytes, size, &image->cubin, NULL))
		ct_gpucore_damaged(core, image->section, "holds a damaged code image");
	image->tried = true;
	return image->cubin;
}

struct ct_cubin *ct_core_image_at(struct ct_gpucore *core, uint64_t module, uint64_t pc)
{
	// The kernel's own module nearly always has it; opening the others costs time.
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < core->n_images; i++) {
			struct ct_cubin *c;
			if ((core->images[i].module != module) == others && (c = open_image(core, &core->images[i])) && ct_cubin_has_code(c, pc))
				return c;
		}
	return NULL;
}

size_t ct_gpucore_n_modules(const struct ct_gpucore *core)
{
	return core->n_images;
}

uint64_t ct_gpucore_module(const struct ct_gpucore *core, size_t index)
{
	return index < core->n_images ? core->images[index].module : 0;
}

const char *ct_gpucore_kernel(struct ct_gpucore *core, size_t grid_index, struct ct_arena *arena, struct ct_cubin_params *ret_params)
{
	struct ct_gpucore_grid grid;
	struct ct_cubin_function kernel;
	struct ct_cubin_params params = {0};
	if (!ct_gpucore_grid(core, grid_index, &grid))
		return NULL;
	const struct ct_cubin *image = ct_core_image_at(core, grid.module, grid.entry_pc);
	if (!image || !ct_cubin_kernel_at(image, grid.entry_pc, &kernel))
		return NULL;
	if (ret_params) {
		if (!ct_cubin_params(image, &kernel, arena, &params, NULL))
			params = (struct ct_cubin_params){0};
		*ret_params = params;
	}
	return ct_cubin_demangle(arena, kernel.symbol, &core->names);
}
