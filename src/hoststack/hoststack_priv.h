// Files of another process as that process sees them.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_HOSTSTACK_PRIV_H
#define CT_HOSTSTACK_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

// Opens a regular file for reading as process pid would: absolute paths in its root, relative ones in its working directory. pid 0, or
// a process that is gone: as we would. Never follows a link out of that root, never opens a device or waits for a FIFO. -1 and errno.
int ct_open_as(pid_t pid, const char *path);

// Opens the file mapped at [start, end): the very inode where the kernel lets us (also when it was deleted), else by its name. -1.
int ct_open_mapped(pid_t pid, uint64_t start, uint64_t end, const char *path);

// The thread's id in the innermost PID namespace that it is in, which is what it calls itself; 0 unknown.
int64_t ct_inner_tid(pid_t pid, int64_t tid);

// State letter of a thread: 'R', 'S', 'D', 'T', 'Z', ...; 0 when it is gone.
char ct_task_state(pid_t pid, int64_t tid);

// Sets CT_NOT_FOUND when the process is gone, else CT_DENIED with what to do about it. `what` names the thing refused. Returns false.
bool ct_fail_denied(pid_t pid, const char *what, struct ct_error *err);

#endif
