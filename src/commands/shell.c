// cudatrap shell FILE: a session over a dump or a stored report.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>

#include "commands/commands.h"
#include "shell/shell.h"

static int complain(const struct ct_error *err, int status)
{
	fprintf(stderr, "cudatrap: shell: %s%s%s%s\n", err->text, err->hint[0] ? " (" : "", err->hint, err->hint[0] ? ")" : "");
	return status;
}

int ct_command_shell(const struct ct_options *options)
{
	CT_AUTO(ct_shell_auto) struct ct_shell *shell = NULL;
	struct ct_options all;
	struct ct_error err = CT_ERROR_INIT;
	if (options->argc == 0) {
		ct_fail(&err, CT_USAGE, "no file given");
		ct_hint(&err, "a GPU core dump, an incident.json, a report folder, or - for a dump on standard input");
		return complain(&err, 125);
	}
	// Options may also stand behind the file: it takes the place of a program's name.
	if (!ct_cli_parse_more(options, &all, &err))
		return complain(&err, 125);
	if (all.argc) {
		ct_fail(&err, CT_USAGE, "one file at a time, not '%s' too", all.argv[0]);
		return complain(&err, 125);
	}
	if (!ct_shell_open(options->argv[0], &shell, &err))
		return complain(&err, 1);
	const struct ct_render_options render = ct_commands_render_options(&all);
	ct_shell_set_render(shell, &render);
	if (all.n_commands == 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return ct_shell_interact(shell, &render);
	return ct_shell_batch(shell, all.commands, all.n_commands, stdin);
}
