// What the files of libcudatrap-agent.so share. This code runs inside programs that are not ours: libc only, nothing exported but
// dlsym and fprintf, no symbol newer than glibc 2.17 (GLIBC_BASE below), no thread-local storage but a few words (gate.c, record.c), and no output.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_AGENT_PRIV_H
#define CT_AGENT_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// The oldest symbol version of glibc on this machine (sysdeps/unix/sysv/linux/*/shlib-versions).
#if defined __x86_64__
#define GLIBC_BASE "GLIBC_2.2.5"
#elif defined __aarch64__
#define GLIBC_BASE "GLIBC_2.17"
#else
#error "the agent knows x86-64 and aarch64"
#endif

// dlsym.c: the definition of name that the program would get from dlsym(RTLD_DEFAULT); NULL when there is none.
// Functions that moved between libraries or got a new version in glibc 2.34 are had through this, not by linking.
void *ct_agent_lookup(const char *name);
void *ct_agent_lookup_in(void *library, const char *name);  // of one library: dlopen()'s handle

// preload.c: the process has come to use CUDA. Starts listening, once a process; cheap when it already does.
void ct_agent_cuda_seen(void);
// The listening thread is about to end: a later ct_agent_cuda_seen() starts another.
void ct_agent_not_listening(void);
const char *ct_agent_dir(void);  // the folder of the sockets; absolute
bool ct_agent_is_fork(void);     // the process was forked from one that had the agent, and has not called exec since

// listen.c: the socket, opened by the thread that comes to use CUDA, so that whoever asks later finds it, and closed where the thread
// could not be started; and the thread that serves it (pthread_create's signature).
bool ct_agent_open_socket(void);
// Where the supervisor wants GPU core dumps (DIR/dumps is there): a FIFO named after this process, for the driver to write to.
void ct_agent_offer_fifo(void);
void ct_agent_close_socket(void);
void *ct_agent_listen(void *unused);
// In a child after fork: closes what it inherited of the parent's sockets. Async-signal-safe.
void ct_agent_close_inherited(void);

// gate.c: what to hand out in place of the driver's entry point `real`: a gate that leads there until it is shut; real itself where there is
// none to be had, and for what must work after a fault too (the texts of errors).
void *ct_agent_gate(const char *name, void *real);
bool ct_agent_gate_is_open(void);
void ct_agent_gate_begin(void);       // at the start of the process
void ct_agent_gate_after_fork(void);  // in the child; async-signal-safe
// From now on every call through a gate returns error (a CUresult, not 0). False when there are no gates, or the signal that the next one takes
// cannot be had.
bool ct_agent_shut_gate(unsigned error);
// Then: threads that are in a call come out of it with that error. The driver's locks stay as they were, hence the shut gate.
void ct_agent_let_out(void);
// Nobody passes, in or out, until ct_agent_shut_gate() tells the error: for a driver that would come back as if nothing had been.
bool ct_agent_hold_gate(void);

// record_hook.c: what to hand out for the driver's entry point `name`, whose gate is `gate`: a function that records and goes through the gate,
// or the gate itself. per_thread: of the per-thread default stream (_ptsz).
void *ct_agent_hook(const char *name, void *gate, bool per_thread);

// python.c: the stacks of all Python threads as the text of a JSON array, malloc()ed. On failure false, and *ret_why is a sentence in plain
// ASCII without quotes (static storage). Waits for the GIL, without limit.
bool ct_agent_python_stacks(char **ret_threads, char ret_version[32], const char **ret_why);
// The same for the arrays that their frames know: the members "libraries", "detail" and "tensors" of the answer.
bool ct_agent_python_tensors(char **ret_members, char ret_version[32], const char **ret_why);
// The same with PyTorch's anomaly detection turned on, where there is a PyTorch; *ret_state is a JSON text: "on", or why not.
bool ct_agent_python_anomaly(char **ret_state, char ret_version[32], const char **ret_why);
// Whether it is on now.
bool ct_agent_switch_anomaly_on(void);
// preload.c: whether this run wants it.
bool ct_agent_wants_anomaly(void);

#endif
