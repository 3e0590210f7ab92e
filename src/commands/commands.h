// The subcommands. Each returns the exit status and prints its own failures, one line each, on stderr.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_COMMANDS_H
#define CT_COMMANDS_H

#include "cli/cli.h"
#include "render/render.h"
#include "store/store.h"

int ct_command_run(const struct ct_options *options);     // options->argv: the command
int ct_command_report(const struct ct_options *options);  // options->argv: incident files or report folders
int ct_command_list(const struct ct_options *options);    // options->argv: folders of reports
int ct_command_merge(const struct ct_options *options);   // options->argv: folders of one job's reports
int ct_command_doctor(const struct ct_options *options);
int ct_command_shell(const struct ct_options *options);  // options->argv: a dump, an incident file or a report folder, then options

// Reads the folders of the operands; without any, --report-dir, which need not exist.
bool ct_commands_read_store(const struct ct_options *options, struct ct_store *store, struct ct_error *err);
// Colours and width of what goes to standard output.
struct ct_render_options ct_commands_render_options(const struct ct_options *options);

#endif
