// The Python walk of a live process through /proc/PID/mem: works while it runs, is blocked, or is stopped by another debugger.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hoststack/hoststack_priv.h"
#include "hoststack/python_priv.h"

struct process {
	pid_t pid;
	int mem_fd;
	bool own_namespace;  // it has other numbers for its threads than we have
};

static bool read_process(void *context, uint64_t address, void *ret_bytes, size_t size)
{
	const struct process *p = context;
	if (address > INT64_MAX)
		return false;
	size_t done = 0;
	while (done < size) {
		ssize_t n = pread(p->mem_fd, (char *)ret_bytes + done, size - done, (off_t)(address + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

// Our number for the thread that calls itself `inner`; 0 when the process has no such thread.
static int64_t our_tid(const struct process *p, int64_t inner)
{
	char path[64];
	if (inner <= 0)
		return 0;
	if (!p->own_namespace) {
		snprintf(path, sizeof path, "/proc/%d/task/%" PRId64, (int)p->pid, inner);
		return access(path, F_OK) == 0 ? inner : 0;
	}
	snprintf(path, sizeof path, "/proc/%d/task", (int)p->pid);
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(path);
	for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
		long tid = strtol(e->d_name, NULL, 10);
		if (tid > 0 && ct_inner_tid(p->pid, tid) == inner)
			return tid;
	}
	return 0;
}

// glibc keeps the kernel's thread id in struct pthread: on x86-64 behind a header padded to 704 bytes and a list node (glibc 2.36 and
// others of 2.x), on aarch64, where the TCB is not part of it, behind 192 bytes and the node. Another libc has something else there,
// which is no thread of this process: 0 then.
static int64_t tid_of_pthread(void *context, uint64_t pthread)
{
	static const unsigned offsets[] = {0x2d0, 0xd0};
	const struct process *p = context;
	for (size_t i = 0; i < CT_COUNT(offsets); i++) {
		int32_t tid = 0;
		if (read_process(context, pthread + offsets[i], &tid, sizeof tid) && our_tid(p, tid))
			return tid;
	}
	return 0;
}

// From the process's numbers to ours, and the names that go with them.
static void add_tids_and_names(struct ct_arena *arena, const struct process *p, struct ct_python_stacks *stacks)
{
	for (size_t i = 0; i < stacks->n_threads; i++) {
		char path[64];
		struct ct_python_thread *t = &stacks->threads[i];
		t->tid = our_tid(p, t->tid);
		snprintf(path, sizeof path, "/proc/%d/task/%" PRId64 "/comm", (int)p->pid, t->tid);
		CT_AUTO(ct_auto_str) struct ct_str comm = CT_STR_INIT;
		if (t->tid && ct_read_file(path, 64, &comm, NULL) && comm.length > 1)
			t->name = ct_arena_clean(arena, comm.data, comm.length - 1);
	}
}

bool ct_hoststack_python_walk(struct ct_arena *arena, pid_t pid, struct ct_python_stacks *ret_stacks, struct ct_error *err)
{
	struct ct_py_place place = {0};
	struct ct_py_layout layout;
	if (!ct_py_find(pid, &place, err))
		return false;
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	CT_AUTO(ct_auto_close) int mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (mem_fd < 0)
		return ct_fail_denied(pid, "the memory", err);
	struct process process = {.pid = pid, .mem_fd = mem_fd, .own_namespace = ct_inner_tid(pid, pid) != pid};
	const struct ct_memory memory = {read_process, &process};
	struct ct_python_stacks stacks = {0};
	if (!ct_py_layout_at(&memory, &place, &layout, err) ||
	    !ct_py_walk_memory(arena, &memory, &place, &layout, tid_of_pthread, &process, &stacks, err))
		return false;
	add_tids_and_names(arena, &process, &stacks);
	*ret_stacks = stacks;
	return true;
}
