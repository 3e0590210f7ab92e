// Between the files of `cudatrap list`.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_LIST_PRIV_H
#define CT_LIST_PRIV_H

#include "commands/commands.h"
#include "store/store.h"

struct ct_list {
	struct ct_store *store;
	struct ct_known_list known;
	bool has_known;
	struct ct_store_group *groups;
	size_t n_groups;
};

// On standard output; false: it could not be written.
bool ct_list_print_html(const struct ct_list *l);

#endif
