// Asking the agent: one connection, one line, one document, one deadline.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/agent.h"

#define ANSWER_MAX_BYTES ((size_t)16 << 20)
// Linux refuses a connection at once (EAGAIN) when the listener's queue is full; nothing tells when it is not any more.
#define QUEUE_RETRY_MS 20

static bool fail_no_agent(pid_t pid, struct ct_error *err)
{
	ct_fail(err, CT_NOT_FOUND, "no agent in process %d", (int)pid);
	return ct_hint(err, "the process has not used CUDA yet, has ended, or was not started with libcudatrap-agent.so");
}

static bool fail_late(pid_t pid, struct ct_error *err)
{
	ct_fail(err, CT_TIMEOUT, "the agent in process %d did not answer in time", (int)pid);
	return ct_hint(err, "some thread holds Python's GIL and does not give it back");
}

// Waits until fd is ready for events; false when the deadline comes first.
static bool wait_ready(int fd, short events, int64_t deadline_us)
{
	for (;;) {
		struct pollfd ready = {.fd = fd, .events = events};
		int n = poll(&ready, 1, ct_ms_until(deadline_us));
		if (n > 0)
			return true;
		if (n == 0 || errno != EINTR)
			return false;
	}
}

// The address of DIR/PID.sock; by way of a descriptor of DIR (*ret_dir_fd, else -1) where the path is longer than an address may be.
static bool make_address(const char *agent_dir, pid_t pid, struct sockaddr_un *ret_address, int *ret_dir_fd, struct ct_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/%d.sock", agent_dir, (int)pid);
	if (n < 0 || (size_t)n >= sizeof address.sun_path) {
		int fd = open(agent_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return errno == ENOENT ? fail_no_agent(pid, err) : ct_fail_errno(err, "%s", agent_dir);
		snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%d.sock", fd, (int)pid);
		*ret_dir_fd = fd;
	}
	*ret_address = address;
	return true;
}

static bool connect_to(int fd, const struct sockaddr_un *address, pid_t pid, int64_t deadline_us, struct ct_error *err)
{
	while (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
		if (errno == ENOENT || errno == ECONNREFUSED)
			return fail_no_agent(pid, err);
		if (errno != EAGAIN && errno != EINTR)
			return ct_fail_errno(err, "connect to the agent in process %d", (int)pid);
		int left_ms = ct_ms_until(deadline_us);
		if (left_ms == 0)
			return fail_late(pid, err);
		poll(NULL, 0, left_ms < QUEUE_RETRY_MS ? left_ms : QUEUE_RETRY_MS);
	}
	return true;
}

static bool send_line(int fd, const char *request, pid_t pid, int64_t deadline_us, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str line = CT_STR_INIT;
	ct_str_addf(&line, "%s\n", request);
	while (line.length) {
		ssize_t n = send(fd, line.data, line.length, MSG_NOSIGNAL);
		if (n >= 0)
			ct_str_consume(&line, (size_t)n);
		else if (errno == EAGAIN && !wait_ready(fd, POLLOUT, deadline_us))
			return fail_late(pid, err);
		else if (errno == EPIPE || errno == ECONNRESET)
			return true;  // an answer, or its absence, is there to be read
		else if (errno != EAGAIN && errno != EINTR)
			return ct_fail_errno(err, "send to the agent in process %d", (int)pid);
	}
	return true;
}

static bool receive(int fd, pid_t pid, int64_t deadline_us, struct ct_str *ret_text, struct ct_error *err)
{
	char buffer[16384];
	for (;;) {
		if (!wait_ready(fd, POLLIN, deadline_us))
			return fail_late(pid, err);
		ssize_t n = recv(fd, buffer, sizeof buffer, 0);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return true;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return ct_fail_errno(err, "receive from the agent in process %d", (int)pid);
		if ((size_t)n > ANSWER_MAX_BYTES - ret_text->length)
			return ct_fail(err, CT_LIMIT, "the agent in process %d answers with more than %zu bytes", (int)pid, ANSWER_MAX_BYTES);
		ct_str_append(ret_text, buffer, (size_t)n);
	}
}

// The document ends with "}" and a newline, so that a process that dies while it answers is noticed.
static bool check_whole(const struct ct_str *text, pid_t pid, struct ct_error *err)
{
	if (text->length == 0)
		return ct_fail(err, CT_UNAVAILABLE, "the agent in process %d closed the connection without an answer", (int)pid);
	if (text->data[0] != '{' || !ct_ends_with(text->data, "}\n"))
		return ct_fail(err, CT_FORMAT, "the answer of the agent in process %d is not whole (%zu bytes)", (int)pid, text->length);
	return true;
}

bool ct_agent_ask(const char *agent_dir, pid_t pid, const char *request, int64_t deadline_us, struct ct_str *ret_json, struct ct_error *err)
{
	if (!*request || strchr(request, '\n'))
		return ct_fail(err, CT_USAGE, "a request to the agent is one line");
	struct sockaddr_un address;
	CT_AUTO(ct_auto_close) int dir_fd = -1;
	CT_AUTO(ct_auto_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (fd < 0)
		return ct_fail_errno(err, "socket");
	if (!make_address(agent_dir, pid, &address, &dir_fd, err) || !connect_to(fd, &address, pid, deadline_us, err) ||
	    !send_line(fd, request, pid, deadline_us, err) || !receive(fd, pid, deadline_us, &text, err) || !check_whole(&text, pid, err))
		return false;
	ct_str_append(ret_json, text.data, text.length);
	return true;
}
