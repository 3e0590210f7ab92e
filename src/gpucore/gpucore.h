// GPU core dumps: an untrusted ELF file in, GPU state out. Never prints, but for ct_gpucore_raw() into the stream it is given.
// The format is NVIDIA's public one, described by cudacoredump.h of the CUDA toolkit (13.0); see format.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_GPUCORE_H
#define CT_GPUCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/base.h"
#include "cubin/cubin.h"
#include "incident/incident.h"

struct ct_gpucore;  // opaque: its layout is known to gpucore/*.c alone

// What is read from a pipe or unpacked is kept in memory, up to this much unless another limit is given.
#define CT_GPUCORE_SPOOL_LIMIT ((uint64_t)4 << 30)

// Opens the dump at path, "-" is standard input. A file is mapped; a FIFO, a pipe and a compressed dump (xz, gzip, recognised by
// content) are read to their end into memory. On success *ret_core is the caller's, to be freed with ct_gpucore_free(); on failure it is
// left alone and *err (may be NULL) says why: CT_FORMAT with a hint for a dump that the driver did not finish, CT_LIMIT for one too large.
bool ct_gpucore_open(const char *path, struct ct_gpucore **ret_core, struct ct_error *err);
// The same from a descriptor, which stays the caller's. name is for messages. limit_bytes 0: CT_GPUCORE_SPOOL_LIMIT.
bool ct_gpucore_open_fd(int fd, const char *name, uint64_t limit_bytes, struct ct_gpucore **ret_core, struct ct_error *err);
// The same from memory, which must outlive the core; not unpacked.
bool ct_gpucore_open_bytes(const void *bytes, size_t size, struct ct_gpucore **ret_core, struct ct_error *err);
void ct_gpucore_free(struct ct_gpucore *core);  // NULL is fine
void ct_gpucore_auto(struct ct_gpucore **core);  // for CT_AUTO

size_t ct_gpucore_n_sections(const struct ct_gpucore *core);
// Sections and tables that could not be used because their place or form is wrong; NULL: none.
const char *ct_gpucore_damage(const struct ct_gpucore *core);

struct ct_gpucore_device {
	const char *name, *type, *sm_type;  // the dump's bytes, NUL-terminated but not cleaned; "" unknown
	uint32_t id, pci_bus, pci_device, n_sms, warps_per_sm, lanes_per_warp, sm_major, sm_minor, instruction_size;
};
size_t ct_gpucore_n_devices(const struct ct_gpucore *core);
bool ct_gpucore_device(const struct ct_gpucore *core, size_t index, struct ct_gpucore_device *ret_device);

struct ct_gpucore_grid {
	size_t device;  // index of ct_gpucore_device()
	uint64_t grid_id, context, function, entry_pc, module, parent_grid_id;
	uint32_t params_offset;  // in constant bank 0
	uint32_t kernel_type, origin, status;
	struct ct_dim3 grid_dim, block_dim;
	bool launch_blocking;
	uint32_t host_tid;
	struct ct_dim3 cluster_dim;  // zero: none, or a driver before r525
};
size_t ct_gpucore_n_grids(const struct ct_gpucore *core);
// The grid's place in the table, for ct_gpucore_grid(); device is an index of ct_gpucore_device(). False: the table does not have it.
bool ct_gpucore_find_grid(const struct ct_gpucore *core, size_t device, uint64_t grid_id, size_t *ret_index);
// The kernel of a grid, demangled; *ret_params (may be NULL) has no rows when the image does not describe its parameters. All in the arena.
// NULL: its code is not in the dump.
const char *ct_gpucore_kernel(struct ct_gpucore *core, size_t grid_index, struct ct_arena *arena, struct ct_cubin_params *ret_params);
bool ct_gpucore_grid(const struct ct_gpucore *core, size_t index, struct ct_gpucore_grid *ret_grid);
// The bytes of the grid's parameters, from parameter 0 on. The core's. False: not in the dump.
bool ct_gpucore_params(const struct ct_gpucore *core, size_t grid_index, const uint8_t **ret_bytes, size_t *ret_size);

// An integer type of C++ as the demangler writes it.
struct ct_integer_type {
	const char *name, *word;  // "unsigned int", "uint32"
	size_t size;
	bool is_signed;
};
// Of a type with or without qualifiers; of what a pointer of that type points to. NULL: it is no integer. arena is for scratch.
const struct ct_integer_type *ct_gpucore_integer(struct ct_arena *arena, const char *type);
const struct ct_integer_type *ct_gpucore_pointee(struct ct_arena *arena, const char *type);

// A struct argument that is a view of an array in device memory: PyTorch's TensorInfo and packed accessors.
enum { CT_GPUCORE_MAX_DIMS = 99 };  // a TensorInfo has 25 at most, an accessor's number has two digits at most
struct ct_gpucore_view {
	uint64_t address;
	const struct ct_integer_type *element;  // NULL: no integers
	size_t n_dims;
	int64_t sizes[CT_GPUCORE_MAX_DIMS], strides[CT_GPUCORE_MAX_DIMS];  // in elements
};
// True when name, template arguments and size of the struct agree, so that its layout is certain.
bool ct_gpucore_view(struct ct_arena *arena, const char *type, const uint8_t *bytes, size_t size, struct ct_gpucore_view *ret_view);

struct ct_gpucore_lane {
	size_t device;  // index of ct_gpucore_device()
	struct ct_hwpos hw;
	uint64_t grid_id;
	struct ct_gridpos at;
	uint64_t pc;
	uint32_t exception;  // CUDBGException_t, 0: none
	bool has_error_pc;   // of its warp
	uint64_t error_pc;
	uint32_t call_depth;
	bool warp_is_broken, is_active;
	size_t block_serial, warp_serial;  // equal for lanes of one block, one warp; these come one after the other
	uint32_t section, row;             // where it is in the dump
};
// Calls visit for every lane of the dump, blocks and warps together. visit returns false to end; then so does this.
typedef bool ct_gpucore_visit(void *context, const struct ct_gpucore_lane *lane);
bool ct_gpucore_each_lane(const struct ct_gpucore *core, ct_gpucore_visit *visit, void *context);

// Registers R0.. of a lane, predicates (0 or not), uniform registers of its warp: *ret_count values of 32 bits, little-endian, unaligned.
// The core's. False: not in the dump.
enum ct_gpucore_register_file { CT_GPUCORE_REGISTERS, CT_GPUCORE_PREDICATES, CT_GPUCORE_UNIFORM_REGISTERS, CT_GPUCORE_UNIFORM_PREDICATES };
bool ct_gpucore_registers(const struct ct_gpucore *core, const struct ct_gpucore_lane *lane, enum ct_gpucore_register_file file, const uint8_t **ret_values,
			  size_t *ret_count);

// The call stack of a lane, innermost first, in the arena: functions, source lines, what was inlined.
void ct_gpucore_frames(struct ct_gpucore *core, const struct ct_gpucore_lane *lane, struct ct_arena *arena, struct ct_device_frame **ret_frames,
		       size_t *ret_count);

// Global and managed memory, where the dump has it: how many of the size bytes from address on are there one after the other. They are copied
// to bytes, unless that is NULL.
size_t ct_gpucore_read_some(const struct ct_gpucore *core, uint64_t address, void *bytes, size_t size);
// All of them. False: not all are there; bytes may have been written to.
bool ct_gpucore_read_global(const struct ct_gpucore *core, uint64_t address, void *bytes, size_t size);

// The modules with a relocated code image: their handles.
size_t ct_gpucore_n_modules(const struct ct_gpucore *core);
uint64_t ct_gpucore_module(const struct ct_gpucore *core, size_t index);
// The relocated code image of a module (its handle is that of ct_gpucore_grid), for ct_cubin_open(). The core's. False: not in the dump.
bool ct_gpucore_image(const struct ct_gpucore *core, uint64_t module, const uint8_t **ret_bytes, size_t *ret_size);

// Fills incident->gpu, kind, assertion (source "image", unless a better source filled it) and one collector row "gpu"; notes what
// could not be established. False only when the dump has nothing to tell: then *err says why and only the row is added.
bool ct_gpucore_fill(struct ct_gpucore *core, struct ct_incident *incident, struct ct_error *err);

// Every table of the dump, readable, in the order of the file. False: out could not be written.
bool ct_gpucore_raw(const struct ct_gpucore *core, FILE *out, struct ct_error *err);

#endif
