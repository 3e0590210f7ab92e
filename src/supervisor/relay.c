// A stream of the target on its way to ours: every byte as it is, then a look at it.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What happens to ours happens to the target's: when nobody takes the bytes we stop reading and its write() waits;
// when a reader has gone (EPIPE) we close our end and it gets its SIGPIPE. Only where bytes can be dropped without
// ending anything (a terminal that hung up, a full disk) we go on reading, for the hooks.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/supervisor_priv.h"

#define BUFFER_BYTES ((size_t)64 << 10)
// A stream that never runs dry must not keep the rest of the loop waiting.
#define ROUNDS_MOST 16
// pipe(7): at this much room a pipe polls as writable, and a write() of it does not block.
#define PIPE_ROOM_BYTES ((size_t)4096)

// A terminal that copies bytes unchanged; what it prints on does the translation ("\n" to "\r\n") as before.
static void make_transparent(int slave, int like_fd)
{
	struct termios modes;
	if (tcgetattr(like_fd, &modes) != 0 && tcgetattr(slave, &modes) != 0)
		return;
	modes.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | ISTRIP | IXON | IXOFF);
	modes.c_oflag &= ~(tcflag_t)OPOST;
	modes.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	tcsetattr(slave, TCSANOW, &modes);
}

static bool open_pty(struct ct_relay *relay, int like_fd)
{
	CT_AUTO(ct_auto_close) int master = ct_supervisor_above_stdio(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
		return false;
	// Linux 4.13: the slave without its path, which may mean another terminal in a container.
	int slave = ct_supervisor_above_stdio(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
	if (slave < 0)
		return false;
	make_transparent(slave, like_fd);
	relay->input = master;
	relay->target_end = slave;
	relay->is_pty = true;
	master = -1;
	return true;
}

static bool open_pipe(struct ct_relay *relay, struct ct_error *err)
{
	int ends[2];
	if (!ct_supervisor_pipe(ends, err))
		return false;
	relay->input = ends[0];
	relay->target_end = ends[1];
	return true;
}

// Our own stream, so that writing never blocks the loop. O_NONBLOCK on the descriptor itself would be seen by everybody
// who shares it (the shell), so pipes and terminals are opened anew. Where that is refused, small writes after poll().
static void open_output(struct ct_relay *relay)
{
	int fd = (int)relay->stream;
	struct stat st;
	char path[32];
	relay->output = -1;
	relay->write_limit = SIZE_MAX;
	if (fstat(fd, &st) != 0)
		return;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		relay->output = ct_supervisor_above_stdio(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (relay->output >= 0)
		return;
	relay->output = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (!S_ISREG(st.st_mode))
		relay->write_limit = PIPE_ROOM_BYTES;
}

bool ct_supervisor_relay_open(struct ct_supervisor *s, enum ct_stream stream, struct ct_error *err)
{
	struct ct_relay *relay = &s->relays[stream == CT_STDERR ? 1 : 0];
	relay->stream = stream;
	open_output(relay);
	// No pty to be had (no /dev/pts, none left): a pipe is worse, but the target runs.
	if (!(isatty((int)stream) && open_pty(relay, (int)stream)) && !open_pipe(relay, err))
		return false;
	if (fcntl(relay->input, F_SETFL, O_NONBLOCK) != 0)
		return ct_fail_errno(err, "fcntl");
	relay->buffer = ct_xrealloc(NULL, BUFFER_BYTES);
	return true;
}

static void close_input(struct ct_relay *relay)
{
	if (relay->input >= 0)
		close(relay->input);
	if (relay->target_end >= 0)
		close(relay->target_end);
	relay->input = relay->target_end = -1;
	relay->is_drained = true;
}

void ct_supervisor_relay_close(struct ct_relay *relay)
{
	close_input(relay);
	if (relay->output >= 0)
		close(relay->output);
	relay->output = -1;
	free(relay->buffer);
	relay->buffer = NULL;
}

bool ct_supervisor_relay_is_blocked(const struct ct_relay *relay)
{
	return relay->begin < relay->end;
}

static bool can_write(const struct ct_relay *relay)
{
	struct pollfd pfd = {.fd = relay->output, .events = POLLOUT};
	return relay->write_limit == SIZE_MAX || (poll(&pfd, 1, 0) == 1 && pfd.revents);
}

// Until all is written or nobody takes it now.
static void flush(struct ct_relay *relay)
{
	while (ct_supervisor_relay_is_blocked(relay) && relay->output >= 0) {
		size_t length = relay->end - relay->begin;
		if (!can_write(relay))
			return;
		ssize_t n = write(relay->output, relay->buffer + relay->begin, length < relay->write_limit ? length : relay->write_limit);
		if (n >= 0) {
			relay->begin += (size_t)n;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno == EPIPE) {
			relay->begin = relay->end;
			close_input(relay);
		} else if (errno == EIO) {
			close(relay->output);
			relay->output = -1;
		} else if (errno != EINTR) {
			relay->begin = relay->end;  // ENOSPC and the like: these bytes are lost, the next may not be
		}
	}
	if (relay->output < 0)
		relay->begin = relay->end;
}

// The rest of an earlier read first; the hook sees bytes when all of them are passed on.
static bool pass_on(struct ct_supervisor *s, struct ct_relay *relay)
{
	if (!ct_supervisor_relay_is_blocked(relay))
		return true;
	flush(relay);
	if (ct_supervisor_relay_is_blocked(relay))
		return false;
	size_t length = relay->end;
	relay->begin = relay->end = 0;
	if (s->hooks.output)
		s->hooks.output(s->hooks.context, relay->stream, relay->buffer, length);
	return true;
}

void ct_supervisor_relay_pump(struct ct_supervisor *s, struct ct_relay *relay)
{
	for (unsigned round = 0; pass_on(s, relay) && relay->input >= 0 && round < ROUNDS_MOST; round++) {
		ssize_t n = read(relay->input, relay->buffer, BUFFER_BYTES);
		relay->is_drained = n < 0 && errno == EAGAIN;
		if (relay->is_drained)
			return;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			// Not while we hold target_end, but if it should happen it must not make the loop spin.
			close_input(relay);
			return;
		}
		relay->end = (size_t)n;
		if (s->phase == CT_PHASE_EMPTY)
			s->drained_bytes += (size_t)n;
	}
}

bool ct_supervisor_window_copy(struct ct_supervisor *s)
{
	bool changed = false;
	for (size_t i = 0; i < CT_COUNT(s->relays); i++) {
		struct winsize ours, theirs;
		struct ct_relay *relay = &s->relays[i];
		if (!relay->is_pty || relay->input < 0 || ioctl((int)relay->stream, TIOCGWINSZ, &ours) != 0 ||
		    ioctl(relay->input, TIOCGWINSZ, &theirs) != 0 || memcmp(&ours, &theirs, sizeof ours) == 0)
			continue;
		changed |= ioctl(relay->input, TIOCSWINSZ, &ours) == 0;
	}
	return changed;
}
