// The configuration files: the user's, and that of the current folder; see cli.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_priv.h"

enum { MAX_CONFIG = 65536 };
#define LOCAL_CONFIG ".cudatrap.conf"

// A line "name value" or "name": the words of "--name=value".
static bool parse_line(struct ct_arena *arena, char *line, const char *source, bool untrusted, struct ct_options *o, struct ct_error *err)
{
	// A '#' within a word is a part of it, as in a folder's name.
	for (char *p = line; *p; p++)
		if (*p == '#' && (p == line || p[-1] == ' ' || p[-1] == '\t'))
			*p = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	char *name = line + strspn(line, " \t");
	char *value = name + strcspn(name, " \t=");
	if (!*name)
		return true;
	if (*value) {
		*value++ = '\0';
		value += strspn(value, " \t=");
		for (size_t n = strlen(value); n && strchr(" \t", value[n - 1]); n--)
			value[n - 1] = '\0';
	}
	char *word = *value ? ct_arena_printf(arena, "--%s=%s", name, value) : ct_arena_printf(arena, "--%s", name);
	return ct_cli_parse_source(arena, &word, 1, source, untrusted, o, err);
}

static bool parse_text(struct ct_arena *arena, const char *text, const char *path, bool untrusted, struct ct_options *o, struct ct_error *err)
{
	char *rest = ct_arena_strdup(arena, text), *line;
	for (unsigned number = 1; (line = strsep(&rest, "\n")); number++)
		if (!parse_line(arena, line, ct_arena_printf(arena, "%s:%u", path, number), untrusted, o, err))
			return false;
	return true;
}

static bool parse_own(struct ct_arena *arena, const char *path, struct ct_options *o, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	struct ct_error reading = CT_ERROR_INIT;
	struct stat st;
	// Whatever keeps us from seeing a file there (HOME=/dev/null, a folder of another user): then there is none for us.
	if (stat(path, &st) != 0)
		return true;
	if (!ct_read_file(path, MAX_CONFIG, &text, &reading)) {
		if (reading.code == CT_NOT_FOUND || reading.code == CT_DENIED)
			return true;
		*err = reading;
		return false;
	}
	return parse_text(arena, ct_str_text(&text), path, false, o, err);
}

// Whoever can write into the current folder could put a file there for others to stumble over. NULL: nothing is wrong with it.
static const char *why_foreign(int fd)
{
	struct stat st;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return "it is not a file";
	if (st.st_uid != geteuid())
		return "it belongs to another user";
	return st.st_mode & S_IWOTH ? "everybody may write to it" : NULL;
}

// What cannot be trusted is left out, with a line that says so: it must not keep the command from running either.
static bool parse_local(struct ct_arena *arena, struct ct_options *o, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	// O_NONBLOCK: opening a pipe must not wait for its writer.
	CT_AUTO(ct_auto_close) int fd = open(LOCAL_CONFIG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno != ELOOP)
		return true;
	const char *why = fd < 0 ? "it is a link" : why_foreign(fd);
	if (why) {
		o->config_warning = ct_arena_printf(arena, LOCAL_CONFIG " is not read: %s", why);
		return true;
	}
	return (ct_read_fd(fd, MAX_CONFIG, &text, err) || ct_fail_in(err, LOCAL_CONFIG)) && parse_text(arena, ct_str_text(&text), LOCAL_CONFIG, true, o, err);
}

bool ct_cli_parse_config(struct ct_arena *arena, struct ct_options *o, struct ct_error *err)
{
	static const char *const names[] = {"cudatrap/config", "cudatrap.conf"};
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	const char *base = xdg && *xdg ? xdg : home && *home ? ct_arena_printf(arena, "%s/.config", home) : NULL;
	for (size_t i = 0; base && i < CT_COUNT(names); i++)
		if (!parse_own(arena, ct_arena_printf(arena, "%s/%s", base, names[i]), o, err))
			return false;
	return parse_local(arena, o, err);
}
