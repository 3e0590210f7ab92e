// Commands from a list or a pipe: no prompt, no echo, the first failure does not end it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "shell/shell_priv.h"

static bool run(struct ct_shell *shell, const char *line, bool *ret_quit)
{
	struct ct_error err = CT_ERROR_INIT;
	bool ok = ct_shell_execute(shell, line, stdout, ret_quit, &err);
	// In the order in which things happened, when both go to one file.
	if (fflush(stdout) != 0 || ferror(stdout)) {
		*ret_quit = true;
		fputs("cudatrap: shell: standard output could not be written\n", stderr);
		return false;
	}
	if (!ok)
		fprintf(stderr, "cudatrap: shell: %s%s%s%s\n", err.text, err.hint[0] ? " (" : "", err.hint, err.hint[0] ? ")" : "");
	return ok;
}

int ct_shell_batch(struct ct_shell *shell, const char *const *commands, size_t n_commands, FILE *in)
{
	CT_AUTO(ct_auto_free) char *line = NULL;
	size_t room = 0;
	ssize_t n;
	bool quit = false, ok = true;
	for (size_t i = 0; i < n_commands && !quit; i++)
		ok &= run(shell, commands[i], &quit);
	while (!n_commands && !quit && (n = getline(&line, &room, in)) >= 0) {
		// A byte that ends the text would hide what follows it.
		if ((size_t)n != strlen(line)) {
			fputs("cudatrap: shell: a line holds a NUL byte\n", stderr);
			ok = false;
			continue;
		}
		ok &= run(shell, line, &quit);
	}
	return ok ? 0 : 1;
}
