// Shared inside supervisor/ only.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_SUPERVISOR_PRIV_H
#define CT_SUPERVISOR_PRIV_H

#include <signal.h>
#include <termios.h>

#include "supervisor/processes.h"
#include "supervisor/supervisor.h"

// A copied stream: what the target writes to `input` goes to `output`.
struct ct_relay {
	enum ct_stream stream;
	int input;           // our end: pty master or pipe; -1: not copied (any more)
	int target_end;      // pty slave or pipe; also kept open by us, so that no end of file can come while somebody may still open it
	int output;          // where it goes; -1: nowhere (our own is closed)
	size_t write_limit;  // bytes that one write() takes without blocking once poll() has said so
	bool is_pty;
	bool is_drained;     // the last read found nothing
	char *buffer;        // read, of which [begin, end) is not yet written
	size_t begin, end;
};

// A child of ours that is not part of the target's tree.
enum ct_child_kind { CT_CHILD_GUARDIAN, CT_CHILD_SENTINEL, CT_CHILD_HELPER, CT_CHILD_FRONT, CT_CHILD_EARLIER };

struct ct_child {
	pid_t pid;
	enum ct_child_kind kind;
};

struct ct_watch {
	int fd;  // -1: removed
	void (*ready)(void *context, int fd);
	void *context;
};

struct ct_timer {
	int64_t deadline_us;
	void (*fire)(void *context);
	void *context;
};

struct ct_terminal {
	int fd;              // our controlling terminal, -1: none
	bool has_modes;      // modes: as found at the start
	struct termios modes;
	bool is_lent;             // to a child in front; lent_modes: what it had to give back
	struct termios lent_modes;
};

enum ct_phase {
	CT_PHASE_RUNNING,
	CT_PHASE_SETTLING,   // the target has ended; what it started may end by itself
	CT_PHASE_ASKING,     // end_tree() was called, nothing signalled yet
	CT_PHASE_ASKED,      // everybody has the first signal
	CT_PHASE_KILLING,
	CT_PHASE_EMPTY,      // nobody left, or nobody who can be ended
};

struct ct_supervisor {
	struct ct_supervisor_options options;
	struct ct_supervisor_hooks hooks;

	pid_t target;         // also its group's number when own_group
	bool own_group;
	bool is_stopped;      // the target, as far as we were told
	bool target_ended;
	int target_status;    // as of waitpid(), when target_ended

	struct ct_terminal terminal;
	struct ct_relay relays[2];
	size_t drained_bytes;  // read after everybody was gone

	int signal_fd;
	bool is_masked;
	sigset_t first_mask;  // as inherited; the target gets it back
	bool has_first_chld;
	struct sigaction first_chld;
	unsigned interrupts;  // since the end began

	int guardian_fd;      // write end; its closing tells the guardian that we are gone
	char *marker;         // "CUDATRAP_RUN_ID=..." in the environment of the target and the helpers
	char **envp;
	int sentinel_fd;      // a byte for each signal that the terminal sent to the target's group

	struct ct_child *children;
	size_t n_children;
	struct ct_watch *watches;
	size_t n_watches;
	struct ct_timer *timers;
	size_t n_timers;

	enum ct_phase phase;
	int first_signal;
	int64_t timeout_us;      // deadline, 0: none
	int64_t phase_us;        // deadline of the phase
	int64_t scan_us;         // when to look at the tree again
	bool child_reaped;       // since the last look at the tree
	bool ended_by_us;        // end_tree() was called while the target was alive
	bool timed_out;
	unsigned n_left_behind, n_immortal;
};

// children.c
void ct_supervisor_child_add(struct ct_supervisor *s, pid_t pid, enum ct_child_kind kind);
void ct_supervisor_children_note_earlier(struct ct_supervisor *s);
void ct_supervisor_reap(struct ct_supervisor *s);
void ct_supervisor_children_end(struct ct_supervisor *s);  // SIGKILL to guardian, sentinel and helpers; reaps them
void ct_supervisor_tree_read(const struct ct_supervisor *s, struct ct_processes *ret_processes);  // marked: live ones of the tree

// ending.c
void ct_supervisor_ending_step(struct ct_supervisor *s, bool may_finish);
int64_t ct_supervisor_ending_deadline(const struct ct_supervisor *s);  // INT64_MAX: none

void ct_supervisor_tree_kill(struct ct_supervisor *s);  // at once, outside of the loop; gives up after seconds

// events.c
void ct_supervisor_fire_timers(struct ct_supervisor *s);
int64_t ct_supervisor_timers_deadline(const struct ct_supervisor *s);
void ct_supervisor_watches_compact(struct ct_supervisor *s);

// guardian.c
bool ct_supervisor_marker_make(struct ct_supervisor *s, struct ct_error *err);
bool ct_supervisor_guardian_start(struct ct_supervisor *s, struct ct_error *err);
void ct_supervisor_guardian_tell(struct ct_supervisor *s);  // about the target's group

// relay.c
bool ct_supervisor_relay_open(struct ct_supervisor *s, enum ct_stream stream, struct ct_error *err);
void ct_supervisor_relay_close(struct ct_relay *relay);
void ct_supervisor_relay_pump(struct ct_supervisor *s, struct ct_relay *relay);  // as far as it goes without blocking
bool ct_supervisor_relay_is_blocked(const struct ct_relay *relay);
bool ct_supervisor_window_copy(struct ct_supervisor *s);  // true: it has changed

// signals.c
bool ct_supervisor_signals_start(struct ct_supervisor *s, struct ct_error *err);
void ct_supervisor_signals_stop(struct ct_supervisor *s);
void ct_supervisor_signals_for_target(const struct ct_supervisor *s);  // in the child: as inherited
void ct_supervisor_signals_read(struct ct_supervisor *s);
void ct_supervisor_sentinel_read(struct ct_supervisor *s);
void ct_supervisor_signal_target(const struct ct_supervisor *s, int number, bool whole_group);

// spawn.c
int ct_supervisor_above_stdio(int fd);  // moves a descriptor of ours out of 0..2; -1 stays -1
bool ct_supervisor_pipe(int ret_ends[2], struct ct_error *err);
void ct_supervisor_keep_only(int fd);   // in a child: fd becomes 0, everything else is closed
void ct_supervisor_die_with(pid_t parent);  // in a child
bool ct_supervisor_spawn_target(struct ct_supervisor *s, struct ct_error *err);
bool ct_supervisor_sentinel_start(struct ct_supervisor *s, struct ct_error *err);

// terminal.c
void ct_supervisor_terminal_open(struct ct_supervisor *s);   // and decides own_group
bool ct_supervisor_terminal_is_ours(const struct ct_supervisor *s);  // we are the foreground group
void ct_supervisor_terminal_give(struct ct_supervisor *s);
void ct_supervisor_terminal_take(struct ct_supervisor *s);
void ct_supervisor_terminal_close(struct ct_supervisor *s);
bool ct_supervisor_terminal_can_lend(const struct ct_supervisor *s);
void ct_supervisor_terminal_lend(struct ct_supervisor *s, pid_t group);  // the modes of the start, Ctrl-Z off
void ct_supervisor_terminal_return(struct ct_supervisor *s);             // when that child has ended
void ct_supervisor_target_stopped(struct ct_supervisor *s, int number);
void ct_supervisor_continued(struct ct_supervisor *s);

#endif
