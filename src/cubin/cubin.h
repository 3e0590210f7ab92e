// CUDA code images (cubins): an untrusted ELF image in, functions, parameters, source lines and assert texts out. Never prints.
// The images of a GPU core dump are relocated: the addresses of loaded code sections and of FUNC symbols are device addresses.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_CUBIN_H
#define CT_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct ct_cubin;  // opaque: its layout is known to cubin/*.c alone

// Opens an image. bytes stay the caller's and must outlive the cubin. On success *ret_cubin is the caller's, to be freed with
// ct_cubin_free(); on failure it is left alone and *err says why.
bool ct_cubin_open(const void *bytes, size_t size, struct ct_cubin **ret_cubin, struct ct_error *err);
void ct_cubin_free(struct ct_cubin *cubin);  // NULL is fine
void ct_cubin_auto(struct ct_cubin **cubin);  // for CT_AUTO

// Architecture number of the code, 90 for sm_90; 0 when the header's form is not known.
uint32_t ct_cubin_sm(const struct ct_cubin *cubin);

struct ct_cubin_function {
	const char *symbol;  // as in the image: mangled; "$kernel$callee" for a function that belongs to one kernel. The image's.
	uint64_t address, size_bytes;
	bool is_entry;       // a kernel
	uint32_t section;    // of its code
};

// Is pc in a loaded code section of this image?
bool ct_cubin_has_code(const struct ct_cubin *cubin, uint64_t pc);
// The innermost (smallest) function that covers pc. False: none does.
bool ct_cubin_function_at(const struct ct_cubin *cubin, uint64_t pc, struct ct_cubin_function *ret_function);
// The kernel whose code section holds pc: for a device function that was compiled into a kernel, that kernel.
bool ct_cubin_kernel_at(const struct ct_cubin *cubin, uint64_t pc, struct ct_cubin_function *ret_function);

// A symbol as people write it, in the arena: demangled; the callee's part of "$kernel$callee". Cleaned. symbol itself when it is
// not a mangled name. budget as in ct_demangle_bounded().
const char *ct_cubin_demangle(struct ct_arena *arena, const char *symbol, struct ct_demangle_budget *budget);
// The parameter types of a demangled signature: "f(int, A<b, c>*)" gives "int", "A<b, c>*". False when there is no parameter list.
bool ct_cubin_param_types(struct ct_arena *arena, const char *signature, const char ***ret_types, size_t *ret_count);
// The template arguments of a type: "n::A<B<int>, 2ul>" gives "B<int>", "2ul". False when it has none.
bool ct_cubin_template_types(struct ct_arena *arena, const char *type, const char ***ret_types, size_t *ret_count);

struct ct_cubin_param {
	uint32_t ordinal, offset, size_bytes;  // offset from parameter 0
};
struct ct_cubin_params {
	struct ct_cubin_param *rows;  // by ordinal
	size_t n_rows;
	bool has_bank_offset;
	uint32_t bank_offset;  // of parameter 0 in constant bank 0
	bool has_total;
	uint32_t total_bytes;
};
// The parameters of a kernel (nv.info records). CT_UNAVAILABLE when the image has no such record for it.
bool ct_cubin_params(const struct ct_cubin *cubin, const struct ct_cubin_function *kernel, struct ct_arena *arena, struct ct_cubin_params *ret_params,
		     struct ct_error *err);

struct ct_cubin_line {
	const char *function;  // NULL: the function that contains the code; else the (mangled or plain) name of what was inlined
	const char *file;
	uint32_t line;
};
// Source position of the instruction at pc: ret_lines[0] is the innermost; each but the last was inlined into the one that follows.
// False without line information for pc. All strings are in the arena.
bool ct_cubin_lines_at(struct ct_cubin *cubin, uint64_t pc, struct ct_arena *arena, struct ct_cubin_line **ret_lines, size_t *ret_count);

// Size of one instruction: volta and later, CudbgDeviceTableEntry.instructionSize of every dump seen.
enum { CT_CUBIN_INSTRUCTION = 16 };

// Does the instruction before pc end in the device assert handler (__assertfail or its wrapper __assert_fail)?
bool ct_cubin_is_assert_return(const struct ct_cubin *cubin, uint64_t pc);
// Is the instruction before pc BPT.TRAP (what __trap() compiles to)?
bool ct_cubin_is_trap_return(const struct ct_cubin *cubin, uint64_t pc);
// Does pc lie in the wrapper __assert_fail, that unoptimised code calls? Then the assert is at the caller.
bool ct_cubin_in_assert_wrapper(const struct ct_cubin *cubin, uint64_t pc);

// A load or store of device memory, at 64-bit addresses.
struct ct_cubin_access {
	bool is_store;
	uint32_t size_bytes;
	uint32_t base;   // register pair of the address, its first; 255: none, the address is the offset
	int64_t offset;
};
// The access of the instruction at pc, for a thread that stands at stand_pc behind it: false when it is none whose encoding is known (sm_90), when it is
// guarded by a predicate, or when a register of the address may have been written to since.
bool ct_cubin_access_at(const struct ct_cubin *cubin, uint64_t pc, uint64_t stand_pc, struct ct_cubin_access *ret_access);

struct ct_cubin_assert {
	const char *expression, *file, *function;  // NULL: could not be decoded
	bool has_line;
	uint32_t line;
	const char *undecoded;  // NULL when all four are there; else which and why, for the reader
};
// Reads device memory into bytes; false when the dump does not have it. context is the caller's.
typedef bool ct_cubin_memory(void *context, uint64_t address, void *bytes, size_t size);
// The arguments of the assert call that returns to pc, decoded from the code before it (sm_75 to sm_121, others are CT_UNAVAILABLE),
// constant bank 4 and the string constants. memory may be NULL. Never guesses: what is not certain stays NULL.
bool ct_cubin_assert_at(const struct ct_cubin *cubin, uint64_t pc, ct_cubin_memory *memory, void *context, struct ct_arena *arena,
			struct ct_cubin_assert *ret_assert, struct ct_error *err);

#endif
