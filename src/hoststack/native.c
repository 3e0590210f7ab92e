// Native stacks of all threads of a process, by libdwfl; each thread is stopped only while its own stack is read.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hoststack/hoststack_priv.h"
#include "hoststack/native_priv.h"

struct unwind {
	struct ct_incident *incident;
	pid_t pid;
	int64_t deadline_us;
	bool spare_writers;
	struct ct_error *err;
	bool ok;
	struct ct_tracer tracer;
	struct ct_symbols symbols;
	Dwfl *dwfl;
	pid_t tids[CT_NATIVE_MAX_THREADS];
	size_t n_tids;
	bool tids_cut;
	struct ct_host_frame frames[CT_NATIVE_MAX_FRAMES];  // of the thread at hand
	size_t n_frames;
	bool late;  // the deadline came while this thread was unwound
	size_t n_done, n_stuck, n_denied;
};

static int compare_tids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

// The main thread first, it launches most kernels, then by age.
static bool list_tids(struct unwind *u)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task", (int)u->pid);
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? ct_fail(u->err, CT_NOT_FOUND, "process %d is gone", (int)u->pid) : ct_fail_errno(u->err, "%s", path);
	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		long tid = strtol(e->d_name, NULL, 10);
		u->tids_cut |= tid > 0 && u->n_tids == CT_NATIVE_MAX_THREADS;
		if (tid > 0 && u->n_tids < CT_NATIVE_MAX_THREADS)
			u->tids[u->n_tids++] = (pid_t)tid;
	}
	qsort(u->tids, u->n_tids, sizeof u->tids[0], compare_tids);
	for (size_t i = 1; i < u->n_tids; i++)
		if (u->tids[i] == u->pid) {
			memmove(&u->tids[1], &u->tids[0], i * sizeof u->tids[0]);
			u->tids[0] = u->pid;
		}
	return true;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **ret_thread_arg)
{
	(void)dwfl;
	(void)arg;
	*ret_thread_arg = NULL;
	return 0;  // threads are asked for one by one
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **ret_thread_arg)
{
	struct unwind *u = arg;
	(void)dwfl;
	*ret_thread_arg = u;
	return tid == u->tracer.tid;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret_word, void *arg)
{
	struct unwind *u = arg;
	(void)dwfl;
	return ct_tracer_read_word(&u->tracer, address, ret_word);
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct unwind *u = arg;
	return ct_tracer_registers(&u->tracer, thread);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

// Calls of the driver go through the agent's gates: part of us, not of the program.
static bool is_ours(const struct ct_host_frame *f)
{
	const char *slash = f->module ? strrchr(f->module, '/') : NULL;
	return slash && ct_starts_with(slash + 1, "libcudatrap-agent.so");
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwind *u = arg;
	Dwarf_Addr pc = 0;
	bool activation = false;
	u->late = ct_now_us() >= u->deadline_us;
	if (u->late || u->n_frames == CT_NATIVE_MAX_FRAMES || !dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	ct_symbols_frame(&u->symbols, pc, activation, &u->frames[u->n_frames]);
	u->n_frames += is_ours(&u->frames[u->n_frames]) ? 0 : 1;
	return DWARF_CB_OK;
}

static void keep_thread(struct unwind *u, pid_t tid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)u->pid, (int)tid);
	CT_AUTO(ct_auto_str) struct ct_str comm = CT_STR_INIT;
	ct_read_file(path, 64, &comm, NULL);
	if (comm.length && comm.data[comm.length - 1] == '\n')
		comm.data[--comm.length] = '\0';
	struct ct_host_thread *t = ct_incident_add_thread(u->incident, tid, comm.length ? comm.data : NULL);
	t->frames = ct_arena_array(&u->incident->arena, u->n_frames, sizeof *t->frames);
	memcpy(t->frames, u->frames, u->n_frames * sizeof *t->frames);
	t->n_frames = u->n_frames;
	if (u->n_frames == CT_NATIVE_MAX_FRAMES)
		ct_incident_add_note(u->incident, "thread %d: only its innermost %d native frames were read", (int)tid, CT_NATIVE_MAX_FRAMES);
	u->n_done++;
}

// A stop cuts a blocked write(2) to a pipe short (fs/pipe.c: what was written so far is its result), and a driver that writes its dump may take
// that for the end.
static bool is_writing(pid_t pid, pid_t tid)
{
	char path[64];
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	if (!ct_read_file(path, 4096, &text, NULL) || !text.length)
		return true;  // it may be
	long number = strtol(ct_str_text(&text), NULL, 10);
	return text.data[0] >= '0' && text.data[0] <= '9' && (number == SYS_write || number == SYS_writev || number == SYS_pwrite64);
}

static void unwind_thread(struct unwind *u, pid_t tid)
{
	if (u->spare_writers && is_writing(u->pid, tid))
		return;
	enum ct_stop stop = ct_tracer_stop(&u->tracer, tid, u->deadline_us);
	u->n_stuck += stop == CT_STOP_STUCK;
	u->n_denied += stop == CT_STOP_DENIED;
	if (stop != CT_STOP_OK)
		return;
	u->n_frames = 0;
	dwfl_getthread_frames(u->dwfl, tid, on_frame, u);  // its failure is a stack that ends early: what was unwound is kept
	ct_tracer_resume(&u->tracer);
	if (u->n_frames)
		keep_thread(u, tid);
}

static bool report_end(struct unwind *u)
{
	if (u->n_stuck)
		ct_incident_add_note(u->incident, "%zu threads did not stop for unwinding (in an uninterruptible system call)", u->n_stuck);
	if (u->n_denied && u->n_done)
		ct_incident_add_note(u->incident, "native stacks of %zu threads were refused: a debugger holds them", u->n_denied);
	if (u->tids_cut)
		ct_incident_add_note(u->incident, "native stacks of the first %d threads only", CT_NATIVE_MAX_THREADS);
	if (ct_now_us() >= u->deadline_us && u->n_done + u->n_stuck + u->n_denied < u->n_tids)
		return ct_fail(u->err, CT_TIMEOUT, "native stacks of %zu of %zu threads: out of time", u->n_done, u->n_tids);
	if (u->n_done)
		return !u->late || ct_fail(u->err, CT_TIMEOUT, "the last of %zu native stacks is cut: out of time", u->n_done);
	if (u->n_denied)
		return ct_fail_denied(u->pid, "the stacks", u->err);
	if (u->n_stuck)
		return ct_fail(u->err, CT_TIMEOUT, "no thread of process %d stopped for unwinding", (int)u->pid);
	return ct_fail(u->err, CT_NOT_FOUND, "process %d has ended", (int)u->pid);
}

static bool attach(struct unwind *u, Elf *executable)
{
	if (dwfl_linux_proc_report(u->dwfl, u->pid) != 0 || dwfl_report_end(u->dwfl, NULL, NULL) != 0)
		return ct_fail_denied(u->pid, "the memory map", u->err);
	ct_symbols_init(&u->symbols, &u->incident->arena, u->pid, u->dwfl);
	if (!dwfl_attach_state(u->dwfl, executable, u->pid, &thread_callbacks, u))
		return ct_fail(u->err, CT_UNAVAILABLE, "libdwfl cannot unwind process %d: %s", (int)u->pid, dwfl_errmsg(-1));
	return true;
}

static bool unwind_all(struct unwind *u)
{
	char path[64];
	if (!list_tids(u))
		return false;
	snprintf(path, sizeof path, "/proc/%d/mem", (int)u->pid);
	CT_AUTO(ct_auto_close) int mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/%d/exe", (int)u->pid);
	CT_AUTO(ct_auto_close) int exe_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (mem_fd < 0 || exe_fd < 0)
		return ct_fail_denied(u->pid, "the stacks", u->err);
	u->tracer = (struct ct_tracer){.pid = u->pid, .mem_fd = mem_fd, .page = 1};
	elf_version(EV_CURRENT);
	Elf *executable = elf_begin(exe_fd, ELF_C_READ_MMAP, NULL);
	u->dwfl = dwfl_begin(&ct_symbols_callbacks);
	bool ok = executable && u->dwfl ? attach(u, executable) : ct_fail(u->err, CT_SYSTEM, "libdwfl: %s", dwfl_errmsg(-1));
	for (size_t i = 0; ok && i < u->n_tids && ct_now_us() < u->deadline_us; i++)
		unwind_thread(u, u->tids[i]);
	if (u->dwfl)
		dwfl_end(u->dwfl);
	if (executable)
		elf_end(executable);
	ct_symbols_done(&u->symbols);
	return ok && report_end(u);
}

static void *unwind_main(void *arg)
{
	struct unwind *u = arg;
	u->ok = unwind_all(u);
	return NULL;
}

bool ct_hoststack_native(struct ct_incident *incident, pid_t pid, int64_t deadline_us, bool spare_writers, struct ct_error *err)
{
	CT_AUTO(ct_auto_free) struct unwind *u = ct_xrealloc(NULL, sizeof *u);
	memset(u, 0, sizeof *u);
	*u = (struct unwind){.incident = incident, .pid = pid, .deadline_us = deadline_us, .spare_writers = spare_writers, .err = err};
	if (pid <= 0 || pid == getpid())
		return ct_fail(err, CT_USAGE, "process %d cannot be unwound by this one", (int)pid);
	// In a thread of its own, see struct ct_tracer, that no signal handler interrupts.
	pthread_t thread;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&thread, NULL, unwind_main, u);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0) {
		errno = rc;
		return ct_fail_errno(err, "a thread for unwinding");
	}
	pthread_join(thread, NULL);
	return u->ok;
}
