// Cubins as compilers write them, which no driver has loaded yet.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_UNLOADED_H
#define CT_UNLOADED_H

#include <stdbool.h>
#include <stddef.h>

#include "cubin/cubin_priv.h"

// Gives every section of the image an address of its own, as the driver would, and moves the symbols along. False: no ELF file with sections.
bool unloaded_give_addresses(char *bytes, size_t size);

// The main() of a tool that lists cubins: opens each file named, with or without addresses given, and hands it to list. What fails is said on standard
// error. Returns the exit status.
int unloaded_each(int argc, char **argv, bool addresses, bool (*list)(const struct ct_cubin *cubin, struct ct_error *err));

// Is it a section of code?
bool unloaded_is_code(const Elf64_Shdr *section);

#endif
