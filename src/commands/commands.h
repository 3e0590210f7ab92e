// The subcommands. Each returns the exit status and prints its own failures, one line each, on stderr.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_COMMANDS_H
#define CT_COMMANDS_H

#include "cli/cli.h"
#include "render/render.h"

int ct_command_run(const struct ct_options *options);     // options->argv: the command
int ct_command_report(const struct ct_options *options);  // options->argv: incident files or report folders
int ct_command_doctor(const struct ct_options *options);
int ct_command_shell(const struct ct_options *options);  // options->argv: a dump, an incident file or a report folder, then options

// Colours and width as the options and standard output ask for.
struct ct_render_options ct_command_render_options(const struct ct_options *options);

#endif
