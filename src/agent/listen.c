// The agent's thread: one Unix socket, one request a connection.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/agent_priv.h"

#define REQUEST_MAX 64
// How long a client may take to send its line and to read a piece of the answer. Only the supervisor connects, and it is quick.
#define CLIENT_TIMEOUT_S 2
#define ALONE_CHECK_MS 1000
// Our descriptors live above those that programs count on (0, 1, 2, 3...).
#define FD_FLOOR 500

// The descriptors are in the program's own table, so it may close them, or put files of its own in their place, at any time. Hence a
// descriptor is used only after is_ours().
static struct {
	struct sockaddr_un address;  // written before the descriptors are, when there is no thread of ours
	_Atomic int listening, connection;  // 0: none; raise_fd() sees to it that ours are never 0
} sockets;

static bool is_ours(int fd)
{
	struct sockaddr_un name;
	socklen_t size = sizeof name;
	memset(&name, 0, sizeof name);
	return fd > 0 && getsockname(fd, (struct sockaddr *)&name, &size) == 0 && name.sun_family == AF_UNIX &&
	       strncmp(name.sun_path, sockets.address.sun_path, sizeof name.sun_path) == 0;
}

void ct_agent_close_inherited(void)
{
	int fds[] = {atomic_exchange(&sockets.connection, 0), atomic_exchange(&sockets.listening, 0)};
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		if (is_ours(fds[i]))
			close(fds[i]);
}

// Moves fd out of the program's way; where the limit on descriptors is lower, to anywhere but 0, 1 and 2.
static int raise_fd(int fd)
{
	if (fd < 0)
		return fd;
	int raised = fcntl(fd, F_DUPFD_CLOEXEC, FD_FLOOR);
	if (raised < 0)
		raised = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return raised;
}

// DIR/PID.sock; where that is too long for an address, the same by way of a descriptor of DIR (*ret_dir_fd, else -1).
static bool make_address(struct sockaddr_un *ret_address, int *ret_dir_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/%d.sock", ct_agent_dir(), (int)getpid());
	*ret_dir_fd = -1;
	if (n < 0 || (size_t)n >= sizeof address.sun_path) {
		*ret_dir_fd = raise_fd(open(ct_agent_dir(), O_PATH | O_DIRECTORY | O_CLOEXEC));
		if (*ret_dir_fd < 0)
			return false;
		snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%d.sock", *ret_dir_fd, (int)getpid());
	}
	*ret_address = address;
	return true;
}

static int open_socket(void)
{
	int fd = raise_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int dir_fd = -1;
	if (fd < 0)
		return -1;
	bool ok = make_address(&sockets.address, &dir_fd);
	if (ok) {
		unlink(sockets.address.sun_path);  // of this process before exec, or of an earlier one with the same number
		// bind() gives the file the socket's mode; umask() would be the whole process's.
		ok = fchmod(fd, 0600) == 0 && bind(fd, (const struct sockaddr *)&sockets.address, sizeof sockets.address) == 0 && listen(fd, 8) == 0;
	}
	if (dir_fd >= 0)
		close(dir_fd);
	if (!ok) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool is_allowed(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

// One line without its end; false when there is none in time.
static bool read_request(int fd, char ret_line[REQUEST_MAX])
{
	size_t n = 0;
	while (n < REQUEST_MAX) {
		ssize_t got = recv(fd, ret_line + n, REQUEST_MAX - n, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		n += (size_t)got;
		char *end = memchr(ret_line, '\n', n);
		if (end) {
			*end = '\0';
			return true;
		}
	}
	return false;
}

// send(), not write(): should the program have put a file in the descriptor's place, it fails instead of writing there.
static bool send_text(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t n = send(fd, text, length, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		length -= (size_t)n;
	}
	return true;
}

static void send_error(int fd, const char *why)
{
	char text[256];
	int n = snprintf(text, sizeof text, "{\"version\":1,\"pid\":%d,\"error\":\"%s\"}\n", (int)getpid(), why);
	send_text(fd, text, (size_t)n);
}

struct request {
	const char *line;
	const char *head;  // in front of what Python says
	bool (*ask)(char **ret_text, char ret_version[32], const char **ret_why);
};

static void answer(int fd, const struct request *request)
{
	char *text = NULL;
	char version[32] = "", head[128];
	const char *why = NULL;
	if (!request->ask(&text, version, &why)) {
		send_error(fd, why);
		return;
	}
	int n = snprintf(head, sizeof head, "{\"version\":1,\"pid\":%d,\"python\":\"%s\",%s", (int)getpid(), version, request->head);
	if (send_text(fd, head, (size_t)n) && send_text(fd, text, strlen(text)))
		send_text(fd, "}\n", 2);
	free(text);
}

static const struct request *find_request(const char *line)
{
	static const struct request requests[] = {
		{"stacks", "\"threads\":", ct_agent_python_stacks},
		{"tensors", "", ct_agent_python_tensors},
		{"anomaly", "\"anomaly\":", ct_agent_python_anomaly},
	};
	for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
		if (strcmp(line, requests[i].line) == 0)
			return &requests[i];
	return NULL;
}

static void send_done(int fd, unsigned error)
{
	char text[80];
	int n = snprintf(text, sizeof text, "{\"version\":1,\"pid\":%d,\"error_code\":%u}\n", (int)getpid(), error);
	send_text(fd, text, (size_t)n);
}

// 0 for what is none: CUresult ends with 999 (cuda.h).
static unsigned parse_error_code(const char *digits)
{
	unsigned error = 0;
	for (; *digits >= '0' && *digits <= '9' && error < 1000; digits++)
		error = error * 10 + (unsigned)(*digits - '0');
	return *digits || error > 999 ? 0 : error;
}

// "fail 710": from now on every call of the driver returns that error, and who is in one comes out with it. "hold": that the error
// will be told; until then nobody passes.
static bool shut_gate(int fd, const char *line)
{
	static const char verb[] = "fail ";
	bool hold = strcmp(line, "hold") == 0;
	if (!hold && strncmp(line, verb, sizeof verb - 1) != 0)
		return false;
	unsigned error = hold ? 0 : parse_error_code(line + sizeof verb - 1);
	if (!(hold ? ct_agent_hold_gate() : ct_agent_shut_gate(error))) {
		send_error(fd, "no call of this process goes through the agent");
		return true;
	}
	// First: the process may end as soon as it can.
	send_done(fd, error);
	if (!hold)
		ct_agent_let_out();
	return true;
}

static void serve(int fd)
{
	const struct timeval limit = {.tv_sec = CLIENT_TIMEOUT_S};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	char line[REQUEST_MAX];
	if (!is_allowed(fd) || !read_request(fd, line) || shut_gate(fd, line))
		return;
	const struct request *request = find_request(line);
	if (request)
		answer(fd, request);
	else
		send_error(fd, "unknown request");
}

// False when there is nothing more to do for this listener.
static bool accept_one(int listening)
{
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			poll(NULL, 0, 100);  // the connection stays in the queue: do not spin on it
		return errno != EBADF && errno != ENOTSOCK && errno != EINVAL && errno != EOPNOTSUPP;
	}
	fd = raise_fd(fd);
	if (fd < 0)
		return true;
	atomic_store(&sockets.connection, fd);
	serve(fd);
	atomic_store(&sockets.connection, 0);
	if (is_ours(fd)) {
		shutdown(fd, SHUT_RDWR);  // the client sees the end even if a child of ours holds a copy
		close(fd);
	}
	return true;
}

// A process whose main thread called pthread_exit() ends with its last thread, and must not wait for us: are we that one? The memory of
// an ended thread cannot be read, that of a living one of our own process can: a question that takes no descriptor.
static bool is_alone(void)
{
	char from = 0, to = 0;
	struct iovec local = {.iov_base = &to, .iov_len = 1}, remote = {.iov_base = &from, .iov_len = 1};
	if (syscall(SYS_process_vm_readv, (long)getpid(), &local, 1L, &remote, 1L, 0L) >= 0 || errno != ESRCH)
		return false;
	struct stat tasks;
	// Links of the folder: two, and one for each thread (proc(5)); here the main thread's remains and ours. fstatat's version is 2.33.
	return syscall(SYS_newfstatat, (long)AT_FDCWD, "/proc/self/task", &tasks, 0L) == 0 && tasks.st_nlink <= 4;
}

// A program may import PyTorch long after something else came to use CUDA: looked for often at first, then now and then.
#define ANOMALY_CHECK_MS 100
#define ANOMALY_OFTEN 600

static void listen_on(int fd)
{
	bool anomaly = ct_agent_wants_anomaly();
	for (unsigned looks = 0;; looks++) {
		anomaly = anomaly && !ct_agent_switch_anomaly_on();
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		int n = poll(&ready, 1, anomaly && looks < ANOMALY_OFTEN ? ANOMALY_CHECK_MS : ALONE_CHECK_MS);
		if (n < 0 && errno != EINTR)
			return;
		if (!is_ours(fd))
			return;
		if (n == 0 && is_alone())
			return;
		if (n > 0 && !accept_one(fd))
			return;
	}
}

bool ct_agent_open_socket(void)
{
	ct_agent_close_inherited();  // of a parent whose fork() was not libc's
	int fd = open_socket();
	if (fd < 0)
		return false;
	atomic_store(&sockets.listening, fd);
	return true;
}

void ct_agent_close_socket(void)
{
	int fd = atomic_exchange(&sockets.listening, 0);
	if (!is_ours(fd))
		return;
	unlink(sockets.address.sun_path);
	close(fd);
}

void *ct_agent_listen(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "cudatrap-agent", 0, 0, 0);
	listen_on(atomic_load(&sockets.listening));
	ct_agent_close_socket();
	ct_agent_not_listening();
	return NULL;
}

void ct_agent_offer_fifo(void)
{
	char path[4200];
	int n = snprintf(path, sizeof path, "%s/dumps/%d", ct_agent_dir(), (int)getpid());
	if (n > 0 && (size_t)n < sizeof path)
		mkfifo(path, 0600);  // fails where nobody wants dumps, and that is all
}
