// The controlling terminal: whose foreground it is, and stopping and continuing as one job.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The target has a process group of its own. On a terminal that group must be the foreground one, or the target could
// not read; but the shell counts our group as the job. Handing the terminal over is right only when we are the whole
// job. In `cudatrap x | less`, `cat f | cudatrap x`, in a script, under make, sudo or timeout there are others in our
// group, who would be sent to the background (less would stop with SIGTTIN, Ctrl-C would pass the script by). There
// the target stays in our group, and the kernel and the shell treat it as they would without us. Its tree is found
// through the parents' numbers, not through the group, so that ending it works the same.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/supervisor_priv.h"

static bool is_pipe(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool is_alone_in_group(void)
{
	CT_AUTO(ct_auto_processes) struct ct_processes all;
	ct_processes_read(&all);
	for (size_t i = 0; i < all.count; i++)
		if (all.rows[i].group == getpgrp() && all.rows[i].pid != getpid())
			return false;
	return true;
}

void ct_supervisor_terminal_open(struct ct_supervisor *s)
{
	s->own_group = true;
	s->terminal.fd = ct_supervisor_above_stdio(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
	if (s->terminal.fd < 0)
		return;  // no job control without one
	s->terminal.has_modes = tcgetattr(s->terminal.fd, &s->terminal.modes) == 0;
	// The pipes first: the right-hand side of a pipeline may not have joined the group yet.
	s->own_group = !is_pipe(STDIN_FILENO) && !is_pipe(STDOUT_FILENO) && is_alone_in_group();
}

bool ct_supervisor_terminal_is_ours(const struct ct_supervisor *s)
{
	return s->terminal.fd >= 0 && tcgetpgrp(s->terminal.fd) == getpgrp();
}

// tcsetpgrp() and tcsetattr() from the background would stop us, were SIGTTOU not blocked (ct_supervisor_signals_start()).
void ct_supervisor_terminal_give(struct ct_supervisor *s)
{
	if (s->own_group && !s->target_ended && ct_supervisor_terminal_is_ours(s))
		tcsetpgrp(s->terminal.fd, s->target);
}

void ct_supervisor_terminal_take(struct ct_supervisor *s)
{
	if (s->terminal.fd < 0 || !s->own_group || s->target <= 0)
		return;
	pid_t front = tcgetpgrp(s->terminal.fd);
	// Not from the shell, when it has put us into the background; but from a group of the target's that is no more.
	if (front == s->target || (front > 0 && front != getpgrp() && kill(-front, 0) != 0 && errno == ESRCH))
		tcsetpgrp(s->terminal.fd, getpgrp());
}

void ct_supervisor_terminal_close(struct ct_supervisor *s)
{
	if (s->terminal.fd < 0)
		return;
	ct_supervisor_terminal_take(s);
	// A program that ends by itself leaves the modes that it wants (`stty raw`). One that was killed had no chance
	// to restore them, and no shell knows that it was killed when our own status is another.
	bool is_killed = s->target_ended && (WIFSIGNALED(s->target_status) || s->ended_by_us);
	if (is_killed && s->terminal.has_modes && ct_supervisor_terminal_is_ours(s))
		tcsetattr(s->terminal.fd, TCSADRAIN, &s->terminal.modes);
	close(s->terminal.fd);
	s->terminal.fd = -1;
}

bool ct_supervisor_terminal_can_lend(const struct ct_supervisor *s)
{
	pid_t front = s->terminal.fd >= 0 ? tcgetpgrp(s->terminal.fd) : -1;
	return front > 0 && (front == getpgrp() || front == s->target);  // else it is the shell's
}

void ct_supervisor_terminal_lend(struct ct_supervisor *s, pid_t group)
{
	if (s->terminal.fd < 0)
		return;
	if (!s->terminal.is_lent && s->terminal.has_modes && tcgetattr(s->terminal.fd, &s->terminal.lent_modes) == 0) {
		struct termios modes = s->terminal.modes;
		modes.c_cc[VSUSP] = _POSIX_VDISABLE;
		tcsetattr(s->terminal.fd, TCSADRAIN, &modes);
		s->terminal.is_lent = true;
	}
	tcsetpgrp(s->terminal.fd, group);
}

void ct_supervisor_terminal_return(struct ct_supervisor *s)
{
	if (s->terminal.fd < 0 || !s->terminal.is_lent)
		return;
	s->terminal.is_lent = false;
	tcsetattr(s->terminal.fd, TCSADRAIN, &s->terminal.lent_modes);
	tcsetpgrp(s->terminal.fd, getpgrp());
}

// For a group of our own: nobody in our session could continue us. The kernel lets no terminal signal stop such a group.
static bool is_orphaned(void)
{
	pid_t parent = getppid();
	return getsid(parent) != getsid(0) || getpgid(parent) == getpgrp();
}

// Returns when we have been continued.
static void stop_self(int number)
{
	struct sigaction stop = {.sa_handler = SIG_DFL}, before;
	sigset_t unblocked, mask;
	sigemptyset(&unblocked);
	sigaddset(&unblocked, number);
	sigaction(number, &stop, &before);
	sigprocmask(SIG_UNBLOCK, &unblocked, &mask);
	raise(number);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(number, &before, NULL);
}

// The target has stopped: then the job has, so we stop the same way and the shell sees it. Not for SIGSTOP: that comes
// from a debugger or another program, which will continue the target and knows nothing of us.
void ct_supervisor_target_stopped(struct ct_supervisor *s, int number)
{
	s->is_stopped = true;
	if (s->terminal.fd < 0 || (number != SIGTSTP && number != SIGTTIN && number != SIGTTOU))
		return;
	if (ct_supervisor_is_ending(s))
		return;  // it has its SIGCONT
	if (s->own_group && number != SIGTSTP && ct_supervisor_terminal_is_ours(s)) {
		// Started in the background, brought to the foreground since: nobody tells us until the target wants to read.
		ct_supervisor_continued(s);
		return;
	}
	if (s->own_group && is_orphaned()) {
		// The target's group has us for a parent, so the kernel did stop it. What it does to an orphaned group
		// that stands still is to hang up and continue it.
		if (number != SIGTSTP)
			ct_supervisor_signal_target(s, SIGHUP, true);
		ct_supervisor_continued(s);
		return;
	}
	for (size_t i = 0; i < CT_COUNT(s->relays); i++)
		ct_supervisor_relay_pump(s, &s->relays[i]);  // what it said before comes before the shell's prompt
	ct_supervisor_terminal_take(s);
	// The modes stay as they are, as without us: the shell keeps them for the job and restores its own.
	stop_self(number);
}

void ct_supervisor_continued(struct ct_supervisor *s)
{
	struct ct_process target;
	ct_supervisor_terminal_give(s);
	if (ct_supervisor_window_copy(s))
		ct_supervisor_signal_target(s, SIGWINCH, true);
	// `fg` sends it to a running job, too. Passed on late it would undo a Ctrl-Z that has come since.
	if (!s->is_stopped)
		return;
	s->is_stopped = false;
	// Sharing our group it was continued with us, unless the signal was for us alone.
	if (s->own_group || (ct_process_read(s->target, &target) && target.state == 'T'))
		ct_supervisor_signal_target(s, SIGCONT, true);
}
