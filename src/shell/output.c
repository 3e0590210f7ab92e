// What a command writes, to the terminal: long texts through $PAGER, others so that Ctrl-C ends them. The first part is held back until it
// is known to be long; the rest (the tables of a dump can be 240 MB) is never in memory.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "cli/cli.h"
#include "shell/shell_priv.h"

extern char **environ;

static struct winsize terminal_size(void)
{
	struct winsize size = {0};
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		size = (struct winsize){0};
	return size;
}

unsigned ct_shell_terminal_width(void)
{
	return terminal_size().ws_col;
}

// Rows that the text takes, up to the limit; escapes count as if they were seen, which is a row too many at worst.
static size_t rows_of(const char *text, size_t length, size_t width, size_t limit)
{
	size_t rows = 0;
	for (const char *p = text, *end = text + length; p < end && rows <= limit;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((newline ? newline : end) - p);
		rows += 1 + (width && n ? (n - 1) / width : 0);
		p += n + 1;
	}
	return rows;
}

// True when a signal asks for an end; it is taken.
static bool interrupted(struct ct_shell_output *o)
{
	struct signalfd_siginfo info;
	bool yes = false;
	while (read(o->signal_fd, &info, sizeof info) == sizeof info) {
		o->ended |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP;
		yes |= info.ssi_signo != SIGWINCH;
	}
	return yes;
}

// False: interrupted, or the terminal is gone.
static bool write_until_interrupt(struct ct_shell_output *o, const char *text, size_t length)
{
	enum { CHUNK = 512 };
	while (length) {
		struct pollfd fds[] = {{.fd = o->signal_fd, .events = POLLIN}, {.fd = STDOUT_FILENO, .events = POLLOUT}};
		if (poll(fds, CT_COUNT(fds), -1) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents && interrupted(o)) {
			ct_write_all(STDOUT_FILENO, "^C\n", 3, NULL);
			return false;
		}
		size_t n = length < CHUNK ? length : CHUNK;
		if (!fds[1].revents)
			continue;
		if (!ct_write_all(STDOUT_FILENO, text, n, NULL))
			return false;
		text += n;
		length -= n;
	}
	return true;
}

// The pager with fd as its input and ordinary signals; no shell is between. False: it could not be started.
static bool start_pager(char **argv, int fd, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return false;
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return false;
	}
	posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	bool ok = posix_spawnp(ret_pid, argv[0], &actions, &attributes, argv, environ) == 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return ok;
}

// False: there is no pager, or it could not be started.
static bool open_pager(struct ct_shell_output *o)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	const char *pager = getenv("PAGER");
	char **words = NULL;
	size_t n = 0;
	int fds[2];
	if (!pager || !ct_cli_split(&arena, pager, &words, &n, NULL) || n == 0 || pipe2(fds, O_CLOEXEC) != 0)
		return false;
	char **argv = ct_arena_array(&arena, n + 1, sizeof *argv);  // NULL behind the last
	memcpy(argv, words, n * sizeof *argv);
	bool ok = start_pager(argv, fds[0], &o->pager);
	close(fds[0]);
	if (!ok) {
		close(fds[1]);
		fprintf(stderr, "PAGER '%s' could not be started\n", argv[0]);
		return false;
	}
	o->pager_fd = fds[1];
	return true;
}

static bool put(struct ct_shell_output *o, const char *text, size_t length)
{
	// EPIPE when the pager's reader has seen enough.
	bool ok = o->pager_fd >= 0 ? ct_write_all(o->pager_fd, text, length, NULL) : write_until_interrupt(o, text, length);
	o->stopped = !ok;
	return ok;
}

// What was held back is shown, as it must be by now.
static void begin(struct ct_shell_output *o)
{
	const struct winsize size = terminal_size();
	o->began = true;
	if (size.ws_row && rows_of(ct_str_text(&o->held), o->held.length, size.ws_col, size.ws_row) >= size.ws_row)
		open_pager(o);
	put(o, ct_str_text(&o->held), o->held.length);
	ct_str_done(&o->held);
}

static ssize_t take(void *cookie, const char *bytes, size_t length)
{
	enum { HELD_BYTES = 256 * 1024 };  // more than any screen
	struct ct_shell_output *o = cookie;
	if (!o->began) {
		ct_str_append(&o->held, bytes, length);
		if (o->held.length > HELD_BYTES)
			begin(o);
	} else if (!o->stopped) {
		put(o, bytes, length);
	}
	return o->stopped ? 0 : (ssize_t)length;
}

FILE *ct_shell_output_open(struct ct_shell_output *output, int signal_fd)
{
	*output = (struct ct_shell_output){.held = CT_STR_INIT, .signal_fd = signal_fd, .pager_fd = -1};
	return fopencookie(output, "w", (cookie_io_functions_t){.write = take});
}

void ct_shell_output_close(struct ct_shell_output *o, FILE *file)
{
	fclose(file);
	if (!o->began)
		begin(o);
	if (o->pager_fd < 0)
		return;
	close(o->pager_fd);
	while (waitpid(o->pager, NULL, 0) < 0 && errno == EINTR)
		;
	interrupted(o);  // Ctrl-C was the pager's
}
