// What the decoder says of every instruction of cubins, for compare_sass.py: a line "SECTION<tab>name", then "offset kind ..." each.
//   list_effects CUBIN...
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdio.h>

#include "cubin/cubin_priv.h"
#include "unloaded.h"

static const char *const kinds[] = {
	[CT_EFFECT_UNKNOWN] = "unknown", [CT_EFFECT_NONE] = "none",         [CT_EFFECT_WRITES] = "writes", [CT_EFFECT_VALUE] = "value",
	[CT_EFFECT_COPY] = "copy",       [CT_EFFECT_CONSTANT] = "constant", [CT_EFFECT_CALL] = "call",     [CT_EFFECT_BARRIER] = "barrier",
};

static void print_register(const char *name, uint16_t reg)
{
	if (reg == CT_RZ || reg == CT_URZ)
		printf(" %s=%s", name, reg == CT_RZ ? "RZ" : "URZ");
	else
		printf(" %s=%s%u", name, reg >= CT_UNIFORM ? "UR" : "R", reg >= CT_UNIFORM ? reg - CT_UNIFORM : reg);
}

static void print_effect(const struct ct_insn *insn, uint64_t at)
{
	struct ct_effect e = ct_sass_effect(insn, at);
	printf("%" PRIx64 " %s", at, kinds[e.kind]);
	if (e.conditional)
		printf(" conditional");
	if (e.is_branch)
		printf(" branch=%" PRIx64, e.target);
	if (e.is_indirect)
		printf(" indirect");
	if (e.kind == CT_EFFECT_WRITES || e.kind == CT_EFFECT_VALUE || e.kind == CT_EFFECT_COPY || e.kind == CT_EFFECT_CONSTANT) {
		print_register("dest", e.dest);
		printf(" count=%u", e.count);
	}
	if (e.kind == CT_EFFECT_VALUE)
		printf(" value=%" PRIx32, e.value);
	if (e.kind == CT_EFFECT_COPY)
		print_register("source", e.source);
	if (e.kind == CT_EFFECT_CONSTANT) {
		printf(" bank=%" PRIx32 " at=%" PRIx32, e.bank, e.offset);
		print_register("index", e.index);
	}
	printf("%s\n", ct_sass_is_trap(insn) ? " trap" : "");
}

static const char *section_name(const struct ct_cubin *cubin, const Elf64_Shdr *section)
{
	Elf64_Ehdr header;
	memcpy(&header, cubin->bytes, sizeof header);
	const Elf64_Shdr *names = &cubin->sections[header.e_shstrndx < cubin->n_sections ? header.e_shstrndx : 0];
	return names->sh_type == SHT_STRTAB && section->sh_name < names->sh_size ? (const char *)cubin->bytes + names->sh_offset + section->sh_name : "?";
}

static bool list(const struct ct_cubin *cubin, struct ct_error *err)
{
	if (!ct_sass_is_known(cubin->sm))
		return ct_fail(err, CT_UNAVAILABLE, "sm_%" PRIu32 " is not decoded", cubin->sm);
	for (size_t i = 1; i < cubin->n_sections; i++) {
		const Elf64_Shdr *s = &cubin->sections[i];
		if (!unloaded_is_code(s))
			continue;
		printf("SECTION\t%s\n", section_name(cubin, s));
		for (uint64_t at = 0; at + CT_CUBIN_INSTRUCTION <= s->sh_size; at += CT_CUBIN_INSTRUCTION) {
			struct ct_insn insn = {.sm = cubin->sm};
			memcpy(&insn.lo, cubin->bytes + s->sh_offset + at, sizeof insn.lo);
			memcpy(&insn.hi, cubin->bytes + s->sh_offset + at + sizeof insn.lo, sizeof insn.hi);
			print_effect(&insn, at);
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	return unloaded_each(argc, argv, false, list);
}
