// Files of another process as that process sees them.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_HOSTSTACK_PRIV_H
#define CT_HOSTSTACK_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/base.h"
#include "incident/incident.h"

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

// ---- Source files -------------------------------------------------------------------------------------------------

enum { CT_SOURCE_COLUMNS = 200 };

// The line of that number, without its newline and not ended by a NUL, within the file; NULL: it has no such line.
const char *ct_source_line(const struct ct_str *file, uint32_t line, size_t *ret_length);
// Foreign text as clean UTF-8 of at most CT_SOURCE_COLUMNS columns, cut between characters. In the arena.
const char *ct_source_cut(struct ct_arena *arena, const char *text, size_t length);

// Wall clock, microseconds since the epoch: when the text was written last, and when anything about the file changed last.
struct ct_file_times {
	int64_t written_us, changed_us;
};
struct ct_file_times ct_file_times(const struct stat *st);

// A file against the code of a frame: Python is read when the process has begun (began_us 0: not known), native code is compiled before its
// module is linked.
enum ct_source_age { CT_SOURCE_UNKNOWN, CT_SOURCE_OLDER, CT_SOURCE_NEWER };
enum ct_source_age ct_source_age(pid_t pid, int64_t began_us, const struct ct_host_frame *frame, const struct ct_file_times *times);
// Gives the frame its excerpt: its line, which the file must have, and those around it.
void ct_excerpt_add(struct ct_arena *arena, const struct ct_str *file, struct ct_host_frame *frame);

#endif
