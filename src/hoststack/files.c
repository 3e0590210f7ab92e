// Files of another process: its root, its mappings, and why we may not look at it; see hoststack_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hoststack/hoststack_priv.h"

// Turns an O_PATH descriptor into a readable one if it is a regular file. Opening a device or a FIFO has effects; O_PATH has none.
static int reopen_regular(int path_fd)
{
	struct stat st;
	if (fstat(path_fd, &st) != 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	char self[64];
	snprintf(self, sizeof self, "/proc/self/fd/%d", path_fd);
	// Some of the kernel's own files (/proc/kmsg) are regular ones, and a read of them waits.
	return open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

// openat2() keeps absolute links inside the root; kernels before 5.6 and some seccomp filters do not have it.
static int open_path_in(int root_fd, const char *path, bool in_root)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = in_root ? RESOLVE_IN_ROOT : 0};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof how);
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd;
	while (in_root && *path == '/')
		path++;
	return openat(root_fd, path, O_PATH | O_CLOEXEC);
}

int ct_open_as(pid_t pid, const char *path)
{
	char base[64];
	bool absolute = path[0] == '/';
	snprintf(base, sizeof base, "/proc/%d/%s", (int)pid, absolute ? "root" : "cwd");
	CT_AUTO(ct_auto_close) int base_fd = pid > 0 ? open(base, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	CT_AUTO(ct_auto_close) int fd = base_fd >= 0 ? open_path_in(base_fd, path, absolute) : open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -1 : reopen_regular(fd);
}

int ct_open_mapped(pid_t pid, uint64_t start, uint64_t end, const char *path)
{
	// Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; then it is right even if the name now holds another file.
	char link[96];
	snprintf(link, sizeof link, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start, end);
	CT_AUTO(ct_auto_close) int fd = open(link, O_PATH | O_CLOEXEC);
	if (fd >= 0) {
		int readable = reopen_regular(fd);
		if (readable >= 0)
			return readable;
	}
	// The name of a deleted file says so, and may be in use again by a newer one: another build, with other symbols.
	if (path[0] != '/' || ct_ends_with(path, " (deleted)")) {
		errno = ENOENT;
		return -1;
	}
	return ct_open_as(pid, path);
}

// The number behind a key of /proc/PID/status, 0 if there is none.
static long status_number(pid_t pid, const char *key)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (!ct_read_file(path, 64 * 1024, &text, NULL))
		return 0;
	const char *at = strstr(ct_str_text(&text), key);
	return at ? strtol(at + strlen(key), NULL, 10) : 0;
}

int64_t ct_inner_tid(pid_t pid, int64_t tid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%" PRId64 "/status", (int)pid, tid);
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (!ct_read_file(path, 64 * 1024, &text, NULL))
		return 0;
	// "NSpid:\t4711\t12\n": one number a namespace, ours first.
	const char *p = strstr(ct_str_text(&text), "\nNSpid:");
	if (!p)
		return tid;
	p += strlen("\nNSpid:");
	size_t line = strcspn(p, "\n"), last = line;
	while (last && p[last - 1] != '\t' && p[last - 1] != ' ')
		last--;
	return strtol(p + last, NULL, 10);
}

char ct_task_state(pid_t pid, int64_t tid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%" PRId64 "/stat", (int)pid, tid);
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (!ct_read_file(path, 4096, &text, NULL))
		return 0;
	const char *p = strrchr(ct_str_text(&text), ')');  // the name before it may hold anything
	return p && p[1] == ' ' ? p[2] : 0;
}

// The main thread may have ended before the others.
static bool has_living_task(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(path);
	for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
		long tid = strtol(e->d_name, NULL, 10);
		char state = tid > 0 ? ct_task_state(pid, tid) : 0;
		if (state && state != 'Z' && state != 'X')
			return true;
	}
	return false;
}

bool ct_fail_denied(pid_t pid, const char *what, struct ct_error *err)
{
	char state = ct_task_state(pid, pid);
	if (state == 0 || state == 'X' || (state == 'Z' && !has_living_task(pid)))
		return ct_fail(err, CT_NOT_FOUND, "process %d is gone", (int)pid);
	long tracer = status_number(pid, "\nTracerPid:");
	ct_fail(err, CT_DENIED, "%s of process %d: not permitted", what, (int)pid);
	if (tracer)
		return ct_hint(err, "process %ld is tracing it already, and only one can: end that debugger first", tracer);
	CT_AUTO(ct_auto_str) struct ct_str scope = CT_STR_INIT;
	if (ct_read_file("/proc/sys/kernel/yama/ptrace_scope", 16, &scope, NULL) && ct_str_text(&scope)[0] > '0')
		return ct_hint(err, "kernel.yama.ptrace_scope is %c: run as root, start the program under us, or sysctl kernel.yama.ptrace_scope=0",
			       ct_str_text(&scope)[0]);
	return ct_hint(err, "in a container add --cap-add=SYS_PTRACE; elsewhere run as the user of that process or as root");
}
