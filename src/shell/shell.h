// A session over one dump or stored incident: commands in, text out. The table of commands is the whole vocabulary.
// No other program is started but the pager that $PAGER names.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_SHELL_H
#define CT_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/base.h"
#include "render/render.h"

struct ct_shell;  // opaque: its layout is known to shell/*.c alone

// Opens a GPU core dump (also compressed), an incident.json, or a report folder; "-" is standard input. What it is, its content says.
// On success *ret_shell is the caller's and its focus is the first failing thread; on failure it is left alone and *err says why.
bool ct_shell_open(const char *path, struct ct_shell **ret_shell, struct ct_error *err);
void ct_shell_free(struct ct_shell *shell);  // NULL is fine
void ct_shell_auto(struct ct_shell **shell);  // for CT_AUTO

// How wide and in which colours texts are from now on. report_path stays the caller's.
void ct_shell_set_render(struct ct_shell *shell, const struct ct_render_options *render);

// One line: a command and its arguments, quoted as in a POSIX shell. An empty line does nothing. False: the command failed, *err says why;
// what it wrote before stays. *ret_quit is set by `quit` and else left alone.
bool ct_shell_execute(struct ct_shell *shell, const char *line, FILE *out, bool *ret_quit, struct ct_error *err);

// What a word can become: before is the line in front of it. Candidates in the arena, each starting with word. *ret_files: file names go
// here, which are the caller's to list.
size_t ct_shell_complete(struct ct_shell *shell, struct ct_arena *arena, const char *before, const char *word, const char ***ret_words, bool *ret_files);

// The table, for help and tests. NULL: index is past the end.
struct ct_shell_help {
	const char *name, *arguments, *help;
};
bool ct_shell_help_at(size_t index, struct ct_shell_help *ret_help);

// Both return the exit status: 0, or 1 when a command failed. Failures go to stderr, one line each.
// Commands from a list (n_commands of them), or from `in` line by line; neither prompt nor echo.
int ct_shell_batch(struct ct_shell *shell, const char *const *commands, size_t n_commands, FILE *in);
// A person at the terminal: line editing, history, completion, paging. render gives colours; the width is the terminal's at each command.
int ct_shell_interact(struct ct_shell *shell, const struct ct_render_options *render);

#endif
