// cudatrap COMMAND: the default.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>

#include "commands/commands.h"
#include "engine/engine.h"
#include "report/report.h"

static bool check_words(const char *text, struct ct_error *err)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	char **words = NULL;
	size_t n = 0;
	return ct_cli_split(&arena, text, &words, &n, err) && (n || ct_fail(err, CT_USAGE, "no command"));
}

int ct_command_run(const struct ct_options *options)
{
	if (options->argc == 0) {
		fputs("cudatrap: no command given (try: cudatrap python train.py; cudatrap --help)\n", stderr);
		return 125;
	}
	struct ct_error err = CT_ERROR_INIT;
	if (options->also && !ct_report_check_formats(options->also, &err)) {
		fprintf(stderr, "cudatrap: --also: %s\n", err.text);
		return 125;
	}
	if (options->on_report && !check_words(options->on_report, &err)) {
		fprintf(stderr, "cudatrap: --on-report: %s\n", err.text);
		return 125;
	}
	return ct_engine_run(options);
}
