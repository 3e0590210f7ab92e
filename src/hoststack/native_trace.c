// Stopping one thread of another process, reading its registers and its memory.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hoststack/hoststack_priv.h"
#include "hoststack/native_priv.h"

// linux/wait.h; glibc has it under _GNU_SOURCE only in newer releases.
#ifndef __WNOTHREAD
#define __WNOTHREAD 0x20000000
#endif

// A thread that takes longer is not going to stop: it costs its own stack, not everybody's.
enum { STOP_LIMIT_US = 500 * 1000 };

// WNOWAIT first: when the thread ended instead, its status belongs to whoever is its parent, which may be another thread of ours.
// __WNOTHREAD: only what this thread traces.
static enum ct_stop wait_for_stop(struct ct_tracer *tracer, pid_t tid, int64_t deadline_us)
{
	for (unsigned i = 0;; i++) {
		siginfo_t info = {0};
		if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD) != 0 && errno != EINTR)
			return CT_STOP_GONE;
		if (info.si_pid == tid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
			return CT_STOP_GONE;
		if (info.si_pid == tid) {
			waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL | __WNOTHREAD);
			// Event in the second byte: our own stop, or job control's. None: a signal that we hold up.
			tracer->signal = info.si_status >> 8 ? 0 : info.si_status & 0x7f;
			return CT_STOP_OK;
		}
		if (ct_now_us() >= deadline_us)
			return CT_STOP_STUCK;
		struct timespec pause = {.tv_nsec = i < 20 ? 20 * 1000 : 1000 * 1000};
		nanosleep(&pause, NULL);
	}
}

enum ct_stop ct_tracer_stop(struct ct_tracer *tracer, pid_t tid, int64_t deadline_us)
{
	char state = ct_task_state(tracer->pid, tid);
	if (state == 0 || state == 'Z' || state == 'X')
		return CT_STOP_GONE;
	// SEIZE and INTERRUPT, not ATTACH: no SIGSTOP is sent, so that a process stopped by job control stays as it was.
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return errno == ESRCH ? CT_STOP_GONE : CT_STOP_DENIED;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	int64_t limit = ct_now_us() + STOP_LIMIT_US;
	enum ct_stop stop = wait_for_stop(tracer, tid, limit < deadline_us ? limit : deadline_us);
	if (stop == CT_STOP_OK) {
		tracer->tid = tid;
		tracer->page = 1;
	}
	return stop;
}

void ct_tracer_resume(struct ct_tracer *tracer)
{
	if (tracer->tid)
		ptrace(PTRACE_DETACH, tracer->tid, NULL, (void *)(intptr_t)tracer->signal);
	tracer->tid = 0;
	tracer->signal = 0;
}

// A page at a time: an unwinder reads neighbouring words.
static bool read_bytes(struct ct_tracer *t, uint64_t address, uint8_t *ret_bytes, size_t size)
{
	while (size) {
		uint64_t page = address / sizeof t->bytes * sizeof t->bytes;
		if (page != t->page) {
			t->page = 1;
			if (page > INT64_MAX || pread(t->mem_fd, t->bytes, sizeof t->bytes, (off_t)page) != (ssize_t)sizeof t->bytes)
				return false;
			t->page = page;
		}
		size_t at = (size_t)(address - page), n = sizeof t->bytes - at < size ? sizeof t->bytes - at : size;
		memcpy(ret_bytes, t->bytes + at, n);
		ret_bytes += n;
		address += n;
		size -= n;
	}
	return true;
}

bool ct_tracer_read_word(struct ct_tracer *tracer, uint64_t address, uint64_t *ret_word)
{
	uint8_t bytes[sizeof *ret_word];
	if (!read_bytes(tracer, address, bytes, sizeof bytes))
		return false;
	memcpy(ret_word, bytes, sizeof bytes);
	return true;
}

bool ct_tracer_registers(const struct ct_tracer *tracer, Dwfl_Thread *thread)
{
#if defined(__x86_64__) && defined(__LP64__)
	struct user_regs_struct r;
	struct iovec iov = {&r, sizeof r};
	if (ptrace(PTRACE_GETREGSET, tracer->tid, (void *)(uintptr_t)NT_PRSTATUS, &iov) != 0)
		return false;
	// DWARF numbers: System V ABI, AMD64 supplement, figure 3.36.
	const Dwarf_Word words[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
				    r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
	return dwfl_thread_state_registers(thread, 0, CT_COUNT(words), words);
#elif defined(__aarch64__)
	struct user_regs_struct r;
	struct iovec iov = {&r, sizeof r};
	if (ptrace(PTRACE_GETREGSET, tracer->tid, (void *)(uintptr_t)NT_PRSTATUS, &iov) != 0)
		return false;
	Dwarf_Word words[32];  // x0 to x30, sp: DWARF for the Arm 64-bit Architecture
	for (size_t i = 0; i < 31; i++)
		words[i] = r.regs[i];
	words[31] = r.sp;
	dwfl_thread_state_register_pc(thread, r.pc);
	return dwfl_thread_state_registers(thread, 0, CT_COUNT(words), words);
#else
	(void)tracer;
	(void)thread;
	return false;
#endif
}
