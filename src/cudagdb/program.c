// What the kernel would execute: a debugger wants the binary, not the script.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"

// BINPRM_BUF_SIZE of linux/binfmts.h: what the kernel reads of a script's first line; and how deep it goes.
enum { LINE_BYTES = 256, MAX_DEPTH = 4 };

struct words {
	struct ct_arena *arena;
	char **rows;
	size_t count;
};

static void add(struct words *words, const char *text)
{
	words->rows = ct_arena_grow(words->arena, words->rows, &words->count, sizeof *words->rows);
	words->rows[words->count - 1] = (char *)text;
}

// Reads "#!interpreter argument" of path. False: it is no script.
static bool read_first_line(struct ct_arena *arena, const char *path, const char **ret_interpreter, const char **ret_argument)
{
	CT_AUTO(ct_auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char line[LINE_BYTES + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, line, LINE_BYTES);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	char *start = line + 2 + strspn(line + 2, " \t");
	size_t length = strcspn(start, " \t");
	char *rest = start + length + strspn(start + length, " \t");
	size_t end = strlen(rest);
	while (end && (rest[end - 1] == ' ' || rest[end - 1] == '\t'))
		rest[--end] = '\0';
	if (!length)
		return false;
	*ret_interpreter = ct_arena_strndup(arena, start, length);
	*ret_argument = end ? ct_arena_strdup(arena, rest) : NULL;
	return true;
}

// Neither a program nor a script with a first line: execvp() gives such a file to the shell.
static bool is_plain_text(const char *path)
{
	CT_AUTO(ct_auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char start[4];
	ssize_t n = fd < 0 ? -1 : read(fd, start, sizeof start);
	return n >= 0 && !(n >= 2 && memcmp(start, "#!", 2) == 0) && !(n == 4 && memcmp(start, "\177ELF", 4) == 0);
}

// "#!/usr/bin/env python3": env would execute the next program itself, which a debugger follows less well than it starts one.
static bool skip_env(struct ct_arena *arena, const char *path, const char **interpreter, const char **argument)
{
	if (strcmp(ct_basename(*interpreter), "env") != 0 || !*argument || strpbrk(*argument, " \t=-"))
		return false;
	const char *found = ct_cudagdb_in_path(arena, path, *argument);
	if (!found)
		return false;
	*interpreter = found;
	*argument = NULL;
	return true;
}

bool ct_program_resolve(struct ct_arena *arena, char *const *argv, char *const *environment, char ***ret_argv, struct ct_error *err)
{
	const char *path = ct_environ_get(environment, "PATH");
	const char *program = strchr(argv[0], '/') ? argv[0] : ct_cudagdb_in_path(arena, path ? path : "/bin:/usr/bin", argv[0]);
	if (!program)
		return ct_fail(err, CT_NOT_FOUND, "%s: command not found", argv[0]);
	struct stat st;
	if (stat(program, &st) != 0 || access(program, X_OK) != 0)
		return ct_fail_errno(err, "%s", program);
	if (!S_ISREG(st.st_mode))
		return ct_fail(err, CT_DENIED, "%s: not a file that can be executed", program);
	struct words words = {.arena = arena};
	if (is_plain_text(program))
		add(&words, "/bin/sh");
	add(&words, program);
	for (char *const *a = argv + 1; *a; a++)
		add(&words, *a);
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const char *interpreter, *argument;
		if (!read_first_line(arena, words.rows[0], &interpreter, &argument))
			break;
		skip_env(arena, path, &interpreter, &argument);
		struct words outer = {.arena = arena};
		add(&outer, interpreter);
		if (argument)
			add(&outer, argument);
		for (size_t i = 0; i < words.count; i++)
			add(&outer, words.rows[i]);
		words = outer;
	}
	add(&words, NULL);
	*ret_argv = words.rows;
	return true;
}
