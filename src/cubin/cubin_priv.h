// What the files of cubin/ share: the bounded view of the image, instructions, registers.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_CUBIN_PRIV_H
#define CT_CUBIN_PRIV_H

#include <elf.h>
#include <elfutils/libdw.h>
#include <string.h>

#include "cubin/cubin.h"

enum {
	CT_EM_CUDA = 190,                    // e_machine, elf.h has it as EM_CUDA
	CT_SHT_NV_INFO = 0x70000000,         // SHT_LOPROC + 0, CUDA 12.4 and 13.0 cubins
	CT_STO_ENTRY = 0x10,                 // st_other of kernels
	CT_R_CUDA_64 = 0x02,                 // relocation numbers as ptxas 13.0 writes them and nvdisasm 13 prints them
	CT_R_CUDA_ABS32_LO_32 = 0x38,        // 32@lo(symbol) of MOV
	CT_R_CUDA_ABS32_HI_32 = 0x39,        // 32@hi(symbol)
	CT_R_CUDA_CALL_ABS = 0x4b,           // target of CALL.ABS
	CT_CUBIN_MAX_NAME = 16384,           // of a symbol; no kernel name of PyTorch comes near
};

struct ct_cubin {
	const uint8_t *bytes;
	size_t size;
	uint32_t sm;
	Elf64_Shdr *sections;
	size_t n_sections;
	size_t symtab;        // section index; 0: none
	size_t strtab;        // of the symbols
	size_t n_symbols;
	size_t constant4;     // section index of constant bank 4; 0: none
	size_t names;         // section of the section names; 0: none
	// libdw's own copy and handles, made when lines are first asked for
	bool lines_tried;
	uint8_t *copy;
	Elf *elf;
	Dwarf *dwarf;
};

// A relocation of section `target`; r_addend 0 for the form without addends.
struct ct_reloc {
	uint64_t offset;
	uint32_t type, symbol;
	int64_t addend;
};

bool ct_cubin_symbol(const struct ct_cubin *c, size_t index, Elf64_Sym *ret_symbol);
// The symbol's name inside the image; "" when it has none, or one too long, or it is not terminated.
const char *ct_cubin_symbol_name(const struct ct_cubin *c, const Elf64_Sym *symbol);
// Names that are told apart by reading them all: false when they overlap so much that this would take too long. *spent starts at 0.
bool ct_cubin_spend_name(const struct ct_cubin *c, const char *name, uint64_t *spent);
// Index of the loaded code section that holds pc; 0: none.
size_t ct_cubin_code_section(const struct ct_cubin *c, uint64_t pc);
// The first relocation of section target at exactly this offset.
bool ct_cubin_reloc_at(const struct ct_cubin *c, size_t target, uint64_t offset, struct ct_reloc *ret_reloc);

static inline bool ct_section_has_bytes(const Elf64_Shdr *s)
{
	return s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL;
}

// One instruction, two 64-bit words.
struct ct_insn {
	uint64_t lo, hi;
	unsigned sm;  // of which architecture
};
bool ct_cubin_insn(const struct ct_cubin *c, uint64_t pc, struct ct_insn *ret_insn);

// Opcode in bits 0-11, guard predicate in 12-15 (7: always), modifiers in 64-104; scheduling follows.
static inline uint16_t ct_insn_opcode(const struct ct_insn *i)
{
	return i->lo & 0xfff;
}

static inline bool ct_insn_always(const struct ct_insn *i)
{
	return (i->lo >> 12 & 0xf) == 7;
}

static inline uint64_t ct_insn_modifiers(const struct ct_insn *i)
{
	return i->hi & 0x1ffffffffffu;
}

// What one instruction does to registers; see sass.c.
enum ct_effect_kind {
	CT_EFFECT_UNKNOWN,   // not in our table: nothing may be concluded across it
	CT_EFFECT_NONE,      // writes no general or uniform register
	CT_EFFECT_WRITES,    // writes `count` registers from `dest`, value not of interest
	CT_EFFECT_VALUE,     // dest = value
	CT_EFFECT_COPY,      // dest = register `source`; of count 2 the pairs
	CT_EFFECT_CONSTANT,  // dest (count 1 or 2) = constant bank `bank` at offset (+ register `index`)
	CT_EFFECT_CALL,      // the callee may write anything
	CT_EFFECT_BARRIER,   // control never falls through to the next instruction
};
// Registers: 0..254 general, CT_UNIFORM + 0..254 uniform. 255 and CT_UNIFORM + 255 read as zero.
enum { CT_RZ = 255, CT_UNIFORM = 256, CT_URZ = CT_UNIFORM + 255, CT_NO_REGISTER = 0xffff };
struct ct_effect {
	enum ct_effect_kind kind;
	bool conditional;  // guarded by a predicate
	bool is_branch;    // to `target`
	bool is_indirect;  // to a place in a register
	uint16_t dest, count, source, index;
	uint32_t value, bank, offset;
	uint64_t target;
};
// Is this an architecture whose instructions were compared? Nothing below is to be asked of others.
bool ct_sass_is_known(unsigned sm);
struct ct_effect ct_sass_effect(const struct ct_insn *insn, uint64_t pc);
bool ct_sass_is_trap(const struct ct_insn *insn);
// CALL.ABS through a register pair, *ret_register its first; CALL.ABS to an address (which a relocation names).
bool ct_sass_is_call_register(const struct ct_insn *insn, uint16_t *ret_register);
bool ct_sass_is_call_absolute(const struct ct_insn *insn);

// A register's value right before pc, as far as straight code before it says so.
struct ct_origin {
	enum { CT_ORIGIN_UNKNOWN, CT_ORIGIN_VALUE, CT_ORIGIN_BANK, CT_ORIGIN_RELOC } kind;
	uint32_t value;            // VALUE
	uint32_t bank, offset;     // BANK: the 32-bit word at this byte
	uint32_t reloc_symbol, reloc_type;  // RELOC
	int64_t addend;
};
// Who jumps where in one code section.
struct ct_edge {
	uint64_t target, source;
	bool opaque;  // reached in ways that we do not follow (reconvergence, calls)
};
struct ct_flow {
	const struct ct_cubin *cubin;
	size_t section;
	struct ct_edge *edges;  // by target
	size_t n_edges;
	bool indirect;  // a jump through a register: any instruction may be a target
};
bool ct_flow_init(const struct ct_cubin *c, uint64_t pc, struct ct_flow *ret_flow);  // false: pc is in no loaded code
void ct_flow_done(struct ct_flow *flow);
struct ct_origin ct_slice_register(const struct ct_flow *flow, uint64_t pc, uint16_t reg);
bool ct_origin_equal(const struct ct_origin *a, const struct ct_origin *b);

// The text that a string constant's symbol or address stands for.
enum ct_text_status { CT_TEXT_FOUND, CT_TEXT_AMBIGUOUS, CT_TEXT_MISSING };
struct ct_text_query {
	uint64_t address;      // device address of the string
	bool is_function;      // names a function: the names of other kernels are ruled out
	const char *kernel;    // symbol of the kernel it belongs to; may be NULL
};
enum ct_text_status ct_cubin_text(const struct ct_cubin *c, const struct ct_text_query *query, ct_cubin_memory *memory, void *context, struct ct_arena *arena,
				  const char **ret_text);
// The offset of a data symbol in its section, where that follows from the image; false: it does not.
bool ct_cubin_layout_offset(const struct ct_cubin *c, size_t section, size_t symbol, uint64_t *ret_offset);
// The identifier of a demangled or pretty function name: "f" of "void n::f<int>(float)"; not in any arena: [*start, +length).
bool ct_cubin_base_name(const char *name, const char **ret_start, size_t *ret_length);
// The same of a kernel's symbol, without demangling it: "f" of "_ZN1n1fIiEEvf". False for what no kernel can be (members of classes, lambdas).
bool ct_cubin_symbol_base(const char *symbol, const char **ret_start, size_t *ret_length);

#endif
