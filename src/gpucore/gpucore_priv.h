// What the files of gpucore/ share: the bytes, the section index, tables and their rows.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_GPUCORE_PRIV_H
#define CT_GPUCORE_PRIV_H

#include <elf.h>
#include <string.h>

#include "cubin/cubin.h"
#include "gpucore/format.h"
#include "gpucore/gpucore.h"

// The dump's bytes, mapped or borrowed.
struct ct_source {
	const uint8_t *bytes;
	size_t size;
	void *map;  // to be unmapped; NULL: borrowed
};
bool ct_source_open(int fd, const char *name, uint64_t limit_bytes, struct ct_source *ret_source, struct ct_error *err);
void ct_source_close(struct ct_source *source);

struct ct_image {
	uint64_t module;
	uint32_t section;
	bool tried;
	struct ct_cubin *cubin;  // NULL: not opened yet, or not usable
};

// Device memory, and where the file has it.
struct ct_range {
	uint64_t address, size, offset;
	uint32_t section;
};

struct ct_grid_key {
	uint64_t device, grid_id;
	size_t index;  // of core->grids
};
struct ct_grid_row {
	uint32_t section, row;
	size_t device;
};

struct ct_gpucore {
	struct ct_source source;
	uint64_t shoff;
	uint32_t n_sections;
	// The tree that sh_link spans: children of a section in ascending order. 0 ends a list. Two words a section, built in one pass.
	uint32_t *first_child, *next_sibling;
	uint32_t strings;  // section of the dump's own texts; 0: none
	uint32_t devices;  // section of the device table; 0: none
	uint32_t meta;     // section of the metadata; 0: none
	struct ct_image *images;
	size_t n_images;
	struct ct_grid_row *grids;
	size_t n_grids;
	struct ct_grid_key *grid_keys;  // sorted
	struct ct_range *memory;  // global and managed memory, by address; no byte of it twice
	size_t n_memory;
	struct ct_demangle_budget names;
	size_t n_damaged;
	char damage[160];
};

bool ct_container_index(struct ct_gpucore *core, struct ct_error *err);
void ct_memory_index(struct ct_gpucore *core);  // memory.c
void ct_gpucore_damaged(struct ct_gpucore *core, uint32_t section, const char *what);

static inline Elf64_Shdr ct_core_section(const struct ct_gpucore *core, uint32_t index)
{
	Elf64_Shdr s;
	memcpy(&s, core->source.bytes + core->shoff + (uint64_t)index * sizeof s, sizeof s);
	return s;
}

// The section type without SHT_LOUSER; 0 for all others.
static inline uint32_t ct_core_type(const Elf64_Shdr *s)
{
	uint32_t type = s->sh_type - CT_CORE_LOUSER;
	return s->sh_type > CT_CORE_LOUSER && type < CT_CORE_N_TYPES ? type : 0;
}

const char *ct_core_type_name(uint32_t type);
uint32_t ct_core_row_minimum(uint32_t type);

static inline bool ct_core_in_file(const struct ct_gpucore *core, const Elf64_Shdr *s)
{
	return s->sh_offset <= core->source.size && s->sh_size <= core->source.size - s->sh_offset;
}

// A table: rows of row_bytes each.
struct ct_table {
	const uint8_t *rows;
	uint64_t n_rows, row_bytes;
	uint32_t section, type, parent, parent_row;
};
// False when section is not of that type, lies outside the file or has rows shorter than the first version of the format.
bool ct_table_open(const struct ct_gpucore *core, uint32_t section, enum ct_core_section type, struct ct_table *ret_table);

struct ct_row {
	const uint8_t *bytes;
	uint64_t size;
};
static inline struct ct_row ct_table_row(const struct ct_table *t, uint64_t row)
{
	return (struct ct_row){t->rows + row * t->row_bytes, t->row_bytes};
}
// A field; 0 when the row is too short to have it.
static inline uint32_t ct_row_u32(struct ct_row r, uint32_t offset)
{
	uint32_t v = 0;
	if (offset + sizeof v <= r.size)
		memcpy(&v, r.bytes + offset, sizeof v);
	return v;
}
static inline uint64_t ct_row_u64(struct ct_row r, uint32_t offset)
{
	uint64_t v = 0;
	if (offset + sizeof v <= r.size)
		memcpy(&v, r.bytes + offset, sizeof v);
	return v;
}
static inline struct ct_dim3 ct_row_dim3(struct ct_row r, uint32_t offset)
{
	return (struct ct_dim3){ct_row_u32(r, offset), ct_row_u32(r, offset + 4), ct_row_u32(r, offset + 8)};
}

const char *ct_core_text(const struct ct_gpucore *core, uint64_t offset);  // "" when there is none
// The child of parent of that type for row; 0: none.
uint32_t ct_core_child(const struct ct_gpucore *core, uint32_t parent, enum ct_core_section type, uint32_t row);

// The image that has code at pc, looked for in `module` first; NULL: none.
struct ct_cubin *ct_core_image_at(struct ct_gpucore *core, uint64_t module, uint64_t pc);

// groups.c
enum { CT_CORE_ASSERT = 12, CT_CORE_MAX_GROUPS = 64, CT_CORE_MAX_STACKS = 16, CT_CORE_MAX_FRAMES = 64 };
struct ct_core_place {
	uint32_t section, row;  // of ct_gpucore_lane
};
struct ct_core_group {
	struct ct_group group;
	struct ct_core_place *places;  // of group.lanes
	struct ct_gpucore_lane first;  // in (block, thread) order
};
struct ct_core_groups {
	struct ct_core_group *rows;
	size_t n_rows, n_left_out;
	uint64_t n_lanes;
	struct ct_exception_count *lost;  // SM exceptions without a lane to show for them
	size_t n_lost;
	bool lost_all_assert;
	size_t lost_device;
};
void ct_core_group_lanes(struct ct_gpucore *core, struct ct_arena *arena, struct ct_core_groups *ret_groups);
bool ct_core_is_trap(struct ct_gpucore *core, size_t device, uint64_t grid_id, uint64_t pc);

// frames.c
void ct_core_frames(struct ct_gpucore *core, struct ct_arena *arena, const struct ct_core_group *group, struct ct_device_frame **ret_frames,
		    size_t *ret_count);
// Return address of the frame that called the lane's function; false: not in the dump or no code address.
bool ct_core_caller(struct ct_gpucore *core, const struct ct_gpucore_lane *lane, uint64_t module, uint64_t *ret_address);
uint64_t ct_core_module_of(const struct ct_gpucore *core, size_t device, uint64_t grid_id);  // 0: unknown

// access.c: the addresses that the listed lanes were about to use, where that is certain.
void ct_core_accesses(struct ct_gpucore *core, struct ct_core_group *group);

// arguments.c: the arguments of the grid's kernel, typed by its signature (demangled; NULL: not known), into kernel's incident.
void ct_core_arguments(struct ct_gpucore *core, size_t grid_index, const char *signature, struct ct_incident *incident);
// One of them. type NULL: not known; bytes NULL: not in the dump, else as many as the parameter has.
void ct_core_argument(struct ct_arena *arena, const struct ct_cubin_param *param, const char *type, const uint8_t *bytes, struct ct_argument *ret_argument);

#endif
