// Whole reads and writes; see io.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

bool ct_write_all(int fd, const void *bytes, size_t length, struct ct_error *err)
{
	const char *p = bytes;
	while (length) {
		ssize_t n = write(fd, p, length);
		if (n >= 0) {
			p += n;
			length -= (size_t)n;
		} else if (errno == EAGAIN) {
			struct pollfd pfd = {.fd = fd, .events = POLLOUT};
			poll(&pfd, 1, -1);
		} else if (errno != EINTR) {
			return ct_fail_errno(err, "write");
		}
	}
	return true;
}

// read() through signals; 0 at the end, -1 with err set.
static ssize_t read_some(int fd, char *buffer, size_t size, struct ct_error *err)
{
	ssize_t n;
	do
		n = read(fd, buffer, size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		ct_fail_errno(err, "read");
	return n;
}

bool ct_read_fd(int fd, size_t limit_bytes, struct ct_str *ret_text, struct ct_error *err)
{
	char buffer[16384];
	size_t total = 0;
	for (;;) {
		ssize_t n = read_some(fd, buffer, sizeof buffer, err);
		if (n <= 0)
			return n == 0;
		if ((size_t)n > limit_bytes - total)
			return ct_fail(err, CT_LIMIT, "larger than %zu bytes", limit_bytes);
		total += (size_t)n;
		ct_str_append(ret_text, buffer, (size_t)n);
	}
}

bool ct_read_file(const char *path, size_t limit_bytes, struct ct_str *ret_text, struct ct_error *err)
{
	CT_AUTO(ct_auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ct_fail_errno(err, "%s", path);
	if (!ct_read_fd(fd, limit_bytes, ret_text, err))
		return ct_fail_in(err, "%s", path);
	return true;
}

bool ct_write_file_at(int dir_fd, const char *name, const void *bytes, size_t length, struct ct_error *err)
{
	char temporary[512];
	int n = snprintf(temporary, sizeof temporary, "%s.tmp%d", name, (int)getpid());
	if (n < 0 || (size_t)n >= sizeof temporary)
		return ct_fail(err, CT_LIMIT, "%s: name too long", name);
	CT_AUTO(ct_auto_close) int fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return ct_fail_errno(err, "%s", name);
	bool ok = ct_write_all(fd, bytes, length, err);
	if (!ok)
		ct_fail_in(err, "%s", name);
	else if (renameat(dir_fd, temporary, dir_fd, name) != 0)
		ok = ct_fail_errno(err, "%s", name);
	if (!ok)
		unlinkat(dir_fd, temporary, 0);
	return ok;
}

bool ct_copy_fd(int in, int out, struct ct_error *err)
{
	char buffer[65536];
	for (;;) {
		ssize_t n = read_some(in, buffer, sizeof buffer, err);
		if (n <= 0)
			return n == 0;
		if (!ct_write_all(out, buffer, (size_t)n, err))
			return false;
	}
}

bool ct_copy_file(const char *from, const char *to, struct ct_error *err)
{
	CT_AUTO(ct_auto_close) int in = open(from, O_RDONLY | O_CLOEXEC);
	if (in < 0)
		return ct_fail_errno(err, "%s", from);
	CT_AUTO(ct_auto_close) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return ct_fail_errno(err, "%s", to);
	if (ct_copy_fd(in, out, err))
		return true;
	unlink(to);
	return ct_fail_in(err, "%s", to);
}

const char *ct_data_dir(void)
{
	const char *dir = getenv("CUDATRAP_DATA");
	return dir && *dir ? dir : CT_PKGDATADIR;
}
