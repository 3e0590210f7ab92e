// Which function a PC is in.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"

size_t ct_cubin_code_section(const struct ct_cubin *c, uint64_t pc)
{
	for (size_t i = 1; i < c->n_sections; i++) {
		const Elf64_Shdr *s = &c->sections[i];
		// Lazy loading leaves functions that are not on the device at address 0 (driver 580).
		if (s->sh_type != SHT_PROGBITS || !(s->sh_flags & SHF_ALLOC) || !(s->sh_flags & SHF_EXECINSTR) || s->sh_addr == 0)
			continue;
		if (pc >= s->sh_addr && pc - s->sh_addr < s->sh_size)
			return i;
	}
	return 0;
}

bool ct_cubin_has_code(const struct ct_cubin *c, uint64_t pc)
{
	return ct_cubin_code_section(c, pc) != 0;
}

static void set_function(const struct ct_cubin *c, const Elf64_Sym *sym, struct ct_cubin_function *ret_function)
{
	*ret_function = (struct ct_cubin_function){
		.symbol = ct_cubin_symbol_name(c, sym),
		.address = sym->st_value,
		.size_bytes = sym->st_size,
		.is_entry = (sym->st_other & CT_STO_ENTRY) != 0,
		.section = sym->st_shndx,
	};
}

bool ct_cubin_function_at(const struct ct_cubin *c, uint64_t pc, struct ct_cubin_function *ret_function)
{
	size_t section = ct_cubin_code_section(c, pc);
	Elf64_Sym sym, best = {0};
	bool found = false;
	for (size_t i = 0; section && ct_cubin_symbol(c, i, &sym); i++) {
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx != section)
			continue;
		if (pc < sym.st_value || pc - sym.st_value >= sym.st_size || (found && sym.st_size >= best.st_size))
			continue;
		best = sym;
		found = true;
	}
	if (found)
		set_function(c, &best, ret_function);
	return found;
}

bool ct_cubin_kernel_at(const struct ct_cubin *c, uint64_t pc, struct ct_cubin_function *ret_function)
{
	size_t section = ct_cubin_code_section(c, pc);
	Elf64_Sym sym;
	for (size_t i = 0; section && ct_cubin_symbol(c, i, &sym); i++) {
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx != section || !(sym.st_other & CT_STO_ENTRY))
			continue;
		set_function(c, &sym, ret_function);
		return true;
	}
	return false;
}

bool ct_cubin_in_assert_wrapper(const struct ct_cubin *c, uint64_t pc)
{
	struct ct_cubin_function f;
	return ct_cubin_function_at(c, pc, &f) && strcmp(f.symbol, "__assert_fail") == 0;
}
