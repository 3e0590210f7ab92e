// The subcommands. Each returns the exit status and prints its own failures, one line each, on stderr.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_COMMANDS_H
#define CT_COMMANDS_H

#include "cli/cli.h"

int ct_command_run(const struct ct_options *options);     // options->argv: the command
int ct_command_report(const struct ct_options *options);  // options->argv: incident files or report folders
int ct_command_doctor(const struct ct_options *options);

#endif
