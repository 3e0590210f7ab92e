// cudatrap: subcommands.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "commands/commands.h"
#include "engine/engine.h"

struct subcommand {
	const char *name;
	int (*run)(const struct ct_options *options);
};

static const struct subcommand subcommands[] = {
	{"run", ct_command_run},
	{"attach", ct_engine_attach},
	{"report", ct_command_report},
	{"shell", ct_command_shell},
	{"list", ct_command_list},
	{"merge", ct_command_merge},
	{"doctor", ct_command_doctor},
};

// "cudatrap report x" is ours, "cudatrap -- report x" is a command named report.
static const struct subcommand *find_subcommand(const struct ct_options *options, char **argv)
{
	if (options->argc == 0 || (options->argv > argv + 1 && strcmp(options->argv[-1], "--") == 0))
		return NULL;
	for (size_t i = 0; i < CT_COUNT(subcommands); i++)
		if (strcmp(subcommands[i].name, options->argv[0]) == 0)
			return &subcommands[i];
	return NULL;
}

static int complain(const struct ct_error *err)
{
	fprintf(stderr, "cudatrap: %s%s%s%s\n", err->text, err->hint[0] ? " (" : "", err->hint, err->hint[0] ? ")" : "");
	return 125;
}

// A standard stream that is closed would be the next file that we open. Opened the wrong way round it stays what it is to us, an error
// when it is used, and to the command: close-on-exec.
static void reserve_stdio(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return;
}

static int print_version(void)
{
	puts("cudatrap " CT_VERSION);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 125;
}

static int print_help(void)
{
	ct_cli_print_help(stdout);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 125;
}

int main(int argc, char **argv)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_error err = CT_ERROR_INIT;
	struct ct_options options;
	reserve_stdio();
	setlocale(LC_CTYPE, "");
	if (!ct_cli_parse(&arena, argc, argv, &options, &err))
		return complain(&err);
	if (options.config_warning)
		fprintf(stderr, "cudatrap: %s\n", options.config_warning);
	if (options.help)
		return print_help();
	if (options.version)
		return print_version();
	const struct subcommand *found = find_subcommand(&options, argv);
	if (!found)
		return ct_command_run(&options);
	// A subcommand takes options of its own behind its name.
	struct ct_options again;
	if (!ct_cli_parse_more(&options, &again, &err))
		return complain(&err);
	return again.help ? print_help() : again.version ? print_version() : found->run(&again);
}
