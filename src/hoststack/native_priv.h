// What the files of the native unwinding share: stopping one thread at a time, and names for program counters.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_NATIVE_PRIV_H
#define CT_NATIVE_PRIV_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hoststack/hoststack.h"

enum {
	CT_NATIVE_MAX_THREADS = 512,
	// Raw frames: the interpreter spends four to six of its own on one Python call, and they vanish when the stacks are merged.
	CT_NATIVE_MAX_FRAMES = 1024,
};

enum ct_stop {
	CT_STOP_OK,
	CT_STOP_GONE,    // the thread has ended
	CT_STOP_DENIED,
	CT_STOP_STUCK,   // does not stop: in an uninterruptible system call, or the deadline is near
};

// One thread of another process held still. All calls come from one thread of ours, which then ends: the kernel lets go of everything a
// thread traces when that thread exits, so that nothing stays stopped whatever happens in between.
struct ct_tracer {
	pid_t pid;
	int mem_fd;        // /proc/PID/mem
	pid_t tid;         // the thread that is stopped; 0: none
	int signal;        // it stopped on its way to this signal, to be delivered when it goes on
	uint64_t page;     // address of the page in bytes; 1: none
	uint8_t bytes[4096];
};

enum ct_stop ct_tracer_stop(struct ct_tracer *tracer, pid_t tid, int64_t deadline_us);
void ct_tracer_resume(struct ct_tracer *tracer);
bool ct_tracer_read_word(struct ct_tracer *tracer, uint64_t address, uint64_t *ret_word);
// Hands the registers of the stopped thread to libdwfl; false: an architecture that is not supported.
bool ct_tracer_registers(const struct ct_tracer *tracer, Dwfl_Thread *thread);

// Names for program counters, each looked up once.
struct ct_symbols {
	struct ct_arena *arena;  // for the texts
	struct ct_arena scratch;
	Dwfl *dwfl;
	pid_t pid;
	struct ct_demangle_budget names;
	struct symbol_row *rows;  // open addressing; native_symbols.c
	size_t n_rows, capacity;
};

void ct_symbols_init(struct ct_symbols *symbols, struct ct_arena *arena, pid_t pid, Dwfl *dwfl);
void ct_symbols_done(struct ct_symbols *symbols);
// pc as the unwinder gave it; activation: the thread stands there (else it will return there, and the call is before it).
void ct_symbols_frame(struct ct_symbols *symbols, uint64_t pc, bool activation, struct ct_host_frame *ret_frame);

// libdwfl's callbacks: files as the process sees them, no search for separate debug information, no network.
extern const Dwfl_Callbacks ct_symbols_callbacks;

#endif
