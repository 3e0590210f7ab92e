// A snapshot of /proc: who is whose child, and a way to signal a process that cannot hit its successor.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_SUPERVISOR_PROCESSES_H
#define CT_SUPERVISOR_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ct_process {
	pid_t pid, parent, group, session;
	char state;             // as in proc(5): R S D T t Z X ...
	int threads;
	uint64_t start_ticks;   // since boot; with pid it names one process, ever
	bool marked;            // for the owner of the table
};

struct ct_processes {
	struct ct_process *rows;
	size_t count;
};

#define CT_PROCESSES_INIT {.rows = NULL, .count = 0}

// Every process that /proc shows us. Without a readable /proc the table is empty.
void ct_processes_read(struct ct_processes *ret_processes);
void ct_processes_done(struct ct_processes *processes);
void ct_auto_processes(struct ct_processes *processes);

// One process; false when there is none or /proc does not show it.
bool ct_process_read(pid_t pid, struct ct_process *ret_process);
// Neither a zombie nor gone.
bool ct_process_is_live(const struct ct_process *process);

// Marks each row that has a marked ancestor. Sorts the rows by pid.
void ct_processes_mark_descendants(struct ct_processes *processes);

// Sends number to that very process: not to another one that got the same number since.
void ct_process_signal(const struct ct_process *process, int number);

#endif
