// cudatrap COMMAND: the default.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>

#include "commands/commands.h"
#include "engine/engine.h"

int ct_command_run(const struct ct_options *options)
{
	if (options->argc == 0) {
		fputs("cudatrap: no command given (try: cudatrap python train.py; cudatrap --help)\n", stderr);
		return 125;
	}
	return ct_engine_run(options);
}
