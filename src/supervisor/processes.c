// A snapshot of /proc; see processes.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "supervisor/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"

// comm may hold spaces and parentheses: the fields begin after the last ')'. Field numbers as in proc(5).
static bool parse_stat(const char *text, struct ct_process *ret_process)
{
	const char *end = strrchr(text, ')');
	int pid = 0, parent = 0, group = 0, session = 0, threads = 0;
	char state = 0;
	uint64_t start = 0;
	if (!end || sscanf(text, "%d", &pid) != 1)
		return false;
	// state ppid pgrp session, 7 to 19 skipped, num_threads (20), 21 skipped, starttime (22).
	int n = sscanf(end + 1,
		       " %c %d %d %d"
		       " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d %*s"
		       " %" SCNu64,
		       &state, &parent, &group, &session, &threads, &start);
	if (n != 6)
		return false;
	*ret_process = (struct ct_process){
		.pid = pid, .parent = parent, .group = group, .session = session, .state = state, .threads = threads, .start_ticks = start};
	return true;
}

static bool read_stat_at(int proc_fd, const char *name, struct ct_process *ret_process)
{
	char path[64], text[1024];
	int n = snprintf(path, sizeof path, "%.32s/stat", name);
	if (n < 0 || (size_t)n >= sizeof path)
		return false;
	CT_AUTO(ct_auto_close) int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, text, sizeof text - 1);
	if (length <= 0)
		return false;
	text[length] = '\0';
	return parse_stat(text, ret_process);
}

bool ct_process_read(pid_t pid, struct ct_process *ret_process)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	return read_stat_at(AT_FDCWD, path, ret_process);
}

bool ct_process_is_live(const struct ct_process *process)
{
	// A main thread that has ended before the others shows as a zombie, too.
	return (process->state != 'Z' && process->state != 'X') || process->threads > 1;
}

void ct_processes_read(struct ct_processes *ret_processes)
{
	*ret_processes = (struct ct_processes)CT_PROCESSES_INIT;
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir("/proc");
	if (!dir)
		return;
	size_t room = 0;
	for (const struct dirent *entry; (entry = readdir(dir));) {
		struct ct_process process;
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !read_stat_at(dirfd(dir), entry->d_name, &process))
			continue;
		if (ret_processes->count == room) {
			room = room ? room * 2 : 256;
			ret_processes->rows = ct_xrealloc(ret_processes->rows, room * sizeof *ret_processes->rows);
		}
		ret_processes->rows[ret_processes->count++] = process;
	}
}

void ct_processes_done(struct ct_processes *processes)
{
	free(processes->rows);
	*processes = (struct ct_processes)CT_PROCESSES_INIT;
}

void ct_auto_processes(struct ct_processes *processes)
{
	ct_processes_done(processes);
}

static int compare_pid(const void *a, const void *b)
{
	const struct ct_process *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

void ct_processes_mark_descendants(struct ct_processes *processes)
{
	if (processes->count == 0)
		return;
	qsort(processes->rows, processes->count, sizeof *processes->rows, compare_pid);
	// A child is usually a later number than its parent, so that one pass is usual and a second one finds nothing.
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < processes->count; i++) {
			struct ct_process *process = &processes->rows[i];
			if (process->marked)
				continue;
			struct ct_process key = {.pid = process->parent};
			const struct ct_process *parent = bsearch(&key, processes->rows, processes->count, sizeof key, compare_pid);
			if (parent && parent->marked)
				changed = process->marked = true;
		}
	}
}

void ct_process_signal(const struct ct_process *process, int number)
{
	struct ct_process now;
	// A pidfd (Linux 5.3) keeps meaning the same process: what is checked after opening it is what is signalled.
	CT_AUTO(ct_auto_close) int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	bool has_pidfd = fd >= 0;
	if (!has_pidfd && errno == ESRCH)
		return;
	if (!ct_process_read(process->pid, &now) || now.start_ticks != process->start_ticks)
		return;
	if (!has_pidfd || (syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) != 0 && errno == ENOSYS))
		kill(process->pid, number);
}
