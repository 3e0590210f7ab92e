// Who is a child of ours and why; the target's tree is what remains.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/supervisor_priv.h"

void ct_supervisor_child_add(struct ct_supervisor *s, pid_t pid, enum ct_child_kind kind)
{
	s->children = ct_xrealloc(s->children, (s->n_children + 1) * sizeof *s->children);
	s->children[s->n_children++] = (struct ct_child){.pid = pid, .kind = kind};
}

static const struct ct_child *find_child(const struct ct_supervisor *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_children; i++)
		if (s->children[i].pid == pid)
			return &s->children[i];
	return NULL;
}

static void forget_child(struct ct_supervisor *s, const struct ct_child *child)
{
	s->children[child - s->children] = s->children[--s->n_children];
}

// `sleep 99 & exec cudatrap ...` in a shell: the sleep is a child of ours that the target has nothing to do with.
void ct_supervisor_children_note_earlier(struct ct_supervisor *s)
{
	CT_AUTO(ct_auto_processes) struct ct_processes all;
	ct_processes_read(&all);
	for (size_t i = 0; i < all.count; i++)
		if (all.rows[i].parent == getpid())
			ct_supervisor_child_add(s, all.rows[i].pid, CT_CHILD_EARLIER);
}

// Orphans of the tree become our children (we are their subreaper), so everything below a child of ours that
// is not in the list belongs to the tree.
void ct_supervisor_tree_read(const struct ct_supervisor *s, struct ct_processes *ret_processes)
{
	ct_processes_read(ret_processes);
	for (size_t i = 0; i < ret_processes->count; i++) {
		struct ct_process *process = &ret_processes->rows[i];
		process->marked = process->parent == getpid() && !find_child(s, process->pid);
	}
	ct_processes_mark_descendants(ret_processes);
	for (size_t i = 0; i < ret_processes->count; i++)
		ret_processes->rows[i].marked = ret_processes->rows[i].marked && ct_process_is_live(&ret_processes->rows[i]);
}

size_t ct_supervisor_tree(const struct ct_supervisor *s, pid_t *ret_pids, size_t max)
{
	size_t n = 0;
	CT_AUTO(ct_auto_processes) struct ct_processes all;
	ct_supervisor_tree_read(s, &all);
	for (size_t i = 0; i < all.count; i++) {
		if (!all.rows[i].marked)
			continue;
		if (n < max)
			ret_pids[n] = all.rows[i].pid;
		n++;
	}
	return n;
}

// From the process up to a child of ours: what is asked for may be any number that a program prints, and often.
bool ct_supervisor_has(const struct ct_supervisor *s, pid_t pid)
{
	struct ct_process process;
	if (pid <= 0 || !ct_process_read(pid, &process) || !ct_process_is_live(&process))
		return false;
	while (process.parent > 0 && process.parent != getpid())
		if (!ct_process_read(process.parent, &process))
			return false;
	return process.parent > 0 && !find_child(s, process.pid);
}

static void target_has_ended(struct ct_supervisor *s, int status)
{
	s->target_ended = true;
	s->target_status = status;
	// From here on the keyboard is for us: a second Ctrl-C breaks off what still goes on.
	ct_supervisor_terminal_take(s);
}

static void child_has_ended(struct ct_supervisor *s, pid_t pid, int status)
{
	const struct ct_child *child = find_child(s, pid);
	bool is_told = !child || child->kind == CT_CHILD_HELPER || child->kind == CT_CHILD_FRONT;
	s->child_reaped = true;
	if (child && child->kind == CT_CHILD_FRONT)
		ct_supervisor_terminal_return(s);
	if (child)
		forget_child(s, child);
	if (pid == s->target && !s->target_ended)
		target_has_ended(s, status);
	if (is_told && s->hooks.child_ended)
		s->hooks.child_ended(s->hooks.context, pid, status);
}

void ct_supervisor_reap(struct ct_supervisor *s)
{
	for (;;) {
		int status = 0;
		pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return;
		if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
			if (pid == s->target && WIFSTOPPED(status))
				ct_supervisor_target_stopped(s, WSTOPSIG(status));
			else if (pid == s->target)
				s->is_stopped = false;
			continue;
		}
		// Its last words come before the news of its end.
		for (size_t i = 0; i < CT_COUNT(s->relays); i++)
			ct_supervisor_relay_pump(s, &s->relays[i]);
		child_has_ended(s, pid, status);
	}
}

// A debugger may hang in an uninterruptible call on behalf of the driver: it is not waited for.
static void reap_killed(pid_t pid)
{
	const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000 * 1000};
	for (unsigned i = 0; i < 2000; i++) {
		pid_t reaped = waitpid(pid, NULL, WNOHANG);
		if (reaped == pid || (reaped < 0 && errno != EINTR))
			return;
		nanosleep(&pause, NULL);
	}
}

void ct_supervisor_children_end(struct ct_supervisor *s)
{
	for (size_t i = 0; i < s->n_children; i++)
		if (s->children[i].kind != CT_CHILD_EARLIER)
			kill(s->children[i].pid, SIGKILL);
	for (size_t i = 0; i < s->n_children; i++)
		if (s->children[i].kind != CT_CHILD_EARLIER)
			reap_killed(s->children[i].pid);
	ct_supervisor_terminal_return(s);
	free(s->children);
	s->children = NULL;
	s->n_children = 0;
}
