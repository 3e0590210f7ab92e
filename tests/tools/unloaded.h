// Cubins as compilers write them, which no driver has loaded yet.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_UNLOADED_H
#define CT_UNLOADED_H

#include <stdbool.h>
#include <stddef.h>

// Gives every section of the image an address of its own, as the driver would, and moves the symbols along. False: no ELF file with sections.
bool unloaded_give_addresses(char *bytes, size_t size);

#endif
