// A person at the terminal: readline in its callback form, with signals read from a descriptor beside the keys.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "shell/shell_priv.h"

static const char prompt[] = "(cudatrap) ";

struct session {
	struct ct_shell *shell;
	int signal_fd;
	const struct ct_render_options *render;
	char *line;  // a line that was entered; readline's allocation
	bool has_line, quit, failed;
	size_t n_new;  // lines added to the history
};

// readline's callbacks get no context: the one session of the process stands here while it lasts.
static struct session *current;

static void take_line(char *line)
{
	current->line = line;
	current->has_line = true;
	rl_callback_handler_remove();  // the command has the terminal as it was
}

// The list that readline wants: what the word becomes, then the candidates; NULL-terminated, from malloc.
static char **matches_of(const char *word, const char *const *candidates, size_t n)
{
	char **matches = ct_xrealloc(NULL, (n + 2) * sizeof *matches);
	size_t common = strlen(candidates[0]);
	for (size_t i = 1; i < n; i++) {
		size_t k = 0;
		while (k < common && candidates[i][k] == candidates[0][k])
			k++;
		common = k;
	}
	matches[0] = ct_xstrdup(n == 1 ? candidates[0] : common > strlen(word) ? candidates[0] : word);
	if (n > 1 && common > strlen(word))
		matches[0][common] = '\0';
	size_t kept = 0;
	for (size_t i = 0; n > 1 && i < n; i++)
		matches[1 + kept++] = ct_xstrdup(candidates[i]);
	matches[1 + kept] = NULL;
	return matches;
}

static char **complete(const char *word, int start, int end)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	const char **candidates = NULL;
	bool files = false;
	(void)end;
	size_t n = ct_shell_complete(current->shell, &arena, ct_arena_strndup(&arena, rl_line_buffer, (size_t)start), word, &candidates, &files);
	rl_attempted_completion_over = !files;
	return n ? matches_of(word, candidates, n) : NULL;
}

static void show_error(const struct ct_error *err)
{
	fprintf(stderr, "%s%s%s%s\n", err->text, err->hint[0] ? " (" : "", err->hint, err->hint[0] ? ")" : "");
}

static void run_command(struct session *s, const char *line)
{
	struct ct_error err = CT_ERROR_INIT;
	struct ct_render_options render = *s->render;
	struct ct_shell_output output;
	FILE *out = ct_shell_output_open(&output, s->signal_fd);
	if (!out) {
		fputs("no memory for the output\n", stderr);
		return;
	}
	render.width = ct_shell_terminal_width();
	ct_shell_set_render(s->shell, &render);
	bool ok = ct_shell_execute(s->shell, line, out, &s->quit, &err);
	ct_shell_output_close(&output, out);
	s->quit |= output.ended;
	// Who ends the output knows that it is not whole.
	if (output.stopped)
		return;
	if (!ok)
		show_error(&err);
	s->failed |= !ok;
}

static void handle_line(struct session *s)
{
	CT_AUTO(ct_auto_free) char *line = s->line;
	s->line = NULL;
	s->has_line = false;
	if (!line) {  // Ctrl-D
		putchar('\n');
		fflush(stdout);
		s->quit = true;
		return;
	}
	if (line[strspn(line, " \t")]) {
		HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
		if (!last || strcmp(last->line, line) != 0) {
			add_history(line);
			s->n_new++;
		}
		run_command(s, line);
	}
	if (!s->quit) {
		rl_reset_screen_size();  // a change while the command ran
		rl_callback_handler_install(prompt, take_line);
	}
}

static void handle_signal(struct session *s)
{
	struct signalfd_siginfo info;
	if (read(s->signal_fd, &info, sizeof info) != sizeof info)
		return;
	if (info.ssi_signo == SIGWINCH) {
		rl_resize_terminal();
	} else if (info.ssi_signo == SIGINT) {
		rl_free_line_state();
		rl_callback_sigcleanup();
		rl_replace_line("", 1);
		fputs("^C\n", rl_outstream);
		rl_on_new_line();
		rl_redisplay();
	} else {  // SIGTERM, SIGHUP
		s->quit = true;
	}
}

static void set_up_readline(void)
{
	rl_readline_name = "cudatrap";  // for conditions in .inputrc
	rl_catch_signals = 0;
	rl_catch_sigwinch = 0;
	rl_attempted_completion_function = complete;
	rl_completion_entry_function = rl_filename_completion_function;
	rl_basic_word_break_characters = " \t";
	rl_completer_word_break_characters = " \t";
	rl_completer_quote_characters = "\"'";
	rl_filename_quote_characters = " \t\"'\\";
}

static void loop(struct session *s)
{
	rl_callback_handler_install(prompt, take_line);
	while (!s->quit) {
		struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = s->signal_fd, .events = POLLIN}};
		if (poll(fds, CT_COUNT(fds), -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents)
			handle_signal(s);
		else if (fds[0].revents)
			rl_callback_read_char();
		if (s->has_line)
			handle_line(s);
	}
	rl_callback_handler_remove();
}

static void greet(struct session *s)
{
	struct ct_error err = CT_ERROR_INIT;
	struct ct_render_options render = *s->render;
	render.width = ct_shell_terminal_width();
	ct_render_sections(s->shell->incident, &render, CT_SECTION_HEADLINE | CT_SECTION_FACTS, stdout, &err);
	puts("'help' lists the commands.");
	fflush(stdout);
}

int ct_shell_interact(struct ct_shell *shell, const struct ct_render_options *render)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	sigset_t caught, before;
	sigemptyset(&caught);
	sigaddset(&caught, SIGINT);
	sigaddset(&caught, SIGWINCH);
	sigaddset(&caught, SIGTERM);
	sigaddset(&caught, SIGHUP);
	sigprocmask(SIG_BLOCK, &caught, &before);
	CT_AUTO(ct_auto_close) int signal_fd = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
	struct session session = {.shell = shell, .signal_fd = signal_fd, .render = render};
	void (*pipe_before)(int) = signal(SIGPIPE, SIG_IGN);  // a pager that was left
	current = &session;
	set_up_readline();
	ct_shell_history_load(&arena);
	greet(&session);
	loop(&session);
	ct_shell_history_save(&arena, session.n_new);
	current = NULL;
	signal(SIGPIPE, pipe_before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return session.failed ? 1 : 0;
}
