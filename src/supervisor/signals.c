// Signals that reach us and what becomes of them.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// All of them are blocked and read from a signalfd: no handler, no disposition changed, so that the target inherits
// exactly what we got (nohup's ignored SIGHUP, a shell's ignored SIGINT). SIGCHLD alone must not be ignored while we wait.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/supervisor_priv.h"

// Passed on to the target. SIGALRM, SIGABRT and SIGXCPU are what `timeout -s` and batch systems send besides the usual.
static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGABRT, SIGXCPU, SIGTSTP};

static void fill_set(sigset_t *ret_set)
{
	sigemptyset(ret_set);
	for (size_t i = 0; i < CT_COUNT(passed_on); i++)
		sigaddset(ret_set, passed_on[i]);
	sigaddset(ret_set, SIGCHLD);
	sigaddset(ret_set, SIGCONT);
	sigaddset(ret_set, SIGWINCH);
}

bool ct_supervisor_signals_start(struct ct_supervisor *s, struct ct_error *err)
{
	sigset_t read_set, blocked;
	struct sigaction chld = {.sa_handler = SIG_DFL};
	fill_set(&read_set);
	blocked = read_set;
	sigaddset(&blocked, SIGPIPE);  // blocked, not ignored: write() says EPIPE, and the target inherits no change
	sigaddset(&blocked, SIGXFSZ);  // EFBIG: a file that takes no more is the target's trouble, not our end
	sigaddset(&blocked, SIGTTOU);  // its terminal, on which we write in its name, may not be ours
	if (sigprocmask(SIG_BLOCK, &blocked, &s->first_mask) != 0)
		return ct_fail_errno(err, "sigprocmask");
	s->is_masked = true;
	if (sigaction(SIGCHLD, &chld, &s->first_chld) != 0)
		return ct_fail_errno(err, "sigaction");
	s->has_first_chld = true;
	s->signal_fd = ct_supervisor_above_stdio(signalfd(-1, &read_set, SFD_CLOEXEC | SFD_NONBLOCK));
	return s->signal_fd >= 0 || ct_fail_errno(err, "signalfd");
}

void ct_supervisor_signals_stop(struct ct_supervisor *s)
{
	if (s->has_first_chld)
		sigaction(SIGCHLD, &s->first_chld, NULL);
	if (!s->is_masked)
		return;
	// The signal of a write that we have dealt with must not strike when the mask goes.
	static const int by_write[] = {SIGPIPE, SIGXFSZ};
	const struct timespec now = {.tv_sec = 0, .tv_nsec = 0};
	for (size_t i = 0; i < CT_COUNT(by_write); i++) {
		sigset_t only;
		sigemptyset(&only);
		sigaddset(&only, by_write[i]);
		if (!sigismember(&s->first_mask, by_write[i]))
			sigtimedwait(&only, NULL, &now);
	}
	sigprocmask(SIG_SETMASK, &s->first_mask, NULL);
}

void ct_supervisor_signals_for_target(const struct ct_supervisor *s)
{
	sigaction(SIGCHLD, &s->first_chld, NULL);
	sigprocmask(SIG_SETMASK, &s->first_mask, NULL);
}

void ct_supervisor_signal_target(const struct ct_supervisor *s, int number, bool whole_group)
{
	if (!s->target_ended)
		kill(whole_group && s->own_group ? -s->target : s->target, number);
}

static bool is_interrupt(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static void count_interrupt(struct ct_supervisor *s, int number)
{
	if (is_interrupt(number) && (s->target_ended || ct_supervisor_is_ending(s)))
		s->interrupts++;
}

static void window_changed(struct ct_supervisor *s)
{
	// The target may have asked for the size before we copied it: it hears of it (again) now.
	if (ct_supervisor_window_copy(s))
		ct_supervisor_signal_target(s, SIGWINCH, true);
}

static void dispatch(struct ct_supervisor *s, int number, bool by_terminal)
{
	switch (number) {
	case SIGCHLD:
		return;  // the loop reaps in every round
	case SIGCONT:
		ct_supervisor_continued(s);
		return;
	case SIGWINCH:
		window_changed(s);
		if (!by_terminal)
			ct_supervisor_signal_target(s, SIGWINCH, false);
		return;
	default:
		count_interrupt(s, number);
		// The terminal signals a whole group: ours. A target that shares it has the signal already.
		if (!by_terminal || s->own_group)
			ct_supervisor_signal_target(s, number, by_terminal);
	}
}

void ct_supervisor_signals_read(struct ct_supervisor *s)
{
	struct signalfd_siginfo info;
	while (read(s->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		dispatch(s, (int)info.ssi_signo, info.ssi_code == SI_KERNEL);
}

void ct_supervisor_sentinel_read(struct ct_supervisor *s)
{
	unsigned char numbers[64];
	ssize_t n = read(s->sentinel_fd, numbers, sizeof numbers);
	for (ssize_t i = 0; i < n; i++) {
		if (numbers[i] == SIGWINCH)
			window_changed(s);
		else
			count_interrupt(s, numbers[i]);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close(s->sentinel_fd);
		s->sentinel_fd = -1;
	}
}
