// What several subcommands do alike; see commands.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <unistd.h>

#include "commands/commands.h"

bool ct_commands_read_store(const struct ct_options *options, struct ct_store *store, struct ct_error *err)
{
	struct ct_error why = CT_ERROR_INIT;
	// As long as nothing has failed there is no folder of reports: then there are none.
	if (options->argc == 0 && !ct_store_read(store, options->report_dir, &why) && why.code != CT_NOT_FOUND)
		return ct_fail(err, why.code, "%s", why.text);
	for (int i = 0; i < options->argc; i++)
		if (!ct_store_read(store, options->argv[i], err))
			return false;
	return true;
}

struct ct_render_options ct_commands_render_options(const struct ct_options *options)
{
	return (struct ct_render_options){
		.color = ct_cli_want_color(options, STDOUT_FILENO),
		.width = ct_cli_width(options, STDOUT_FILENO),
		.native = options->native,
		.all_threads = options->verbose,
	};
}
