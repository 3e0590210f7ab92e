// Between the files of cli/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_CLI_PRIV_H
#define CT_CLI_PRIV_H

#include "cli/cli.h"

// Parses words that are all options; source is named in front of what is wrong with them. untrusted: options that run programs or
// delete something are refused.
bool ct_cli_parse_source(struct ct_arena *arena, char **words, size_t count, const char *source, bool untrusted, struct ct_options *o, struct ct_error *err);

// The configuration files; see cli.h.
bool ct_cli_parse_config(struct ct_arena *arena, struct ct_options *o, struct ct_error *err);

#endif
