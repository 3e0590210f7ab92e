// Ending the target and everything it started: ask, wait, kill, and never wait for ever.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <signal.h>
#include <time.h>

#include "supervisor/supervisor_priv.h"

// What the target left behind may end by itself before it is asked to: a `tee` that still writes, a resource tracker.
#define SETTLE_US (300 * 1000)
// After SIGKILL a process in an uninterruptible call (a hung driver) may stay: it is given up, not waited for.
#define KILL_WAIT_US (5 * 1000 * 1000)
// Only the deaths of our own children are reported to us; the rest of the tree is looked at this often while it is ended.
#define LOOK_AGAIN_US (50 * 1000)

// Times are bounded so that adding them to the clock cannot overflow.
static int64_t to_us(int64_t ms)
{
	const int64_t most_ms = INT64_MAX / 4000;
	return (ms < 0 ? 0 : ms > most_ms ? most_ms : ms) * 1000;
}

static unsigned count_marked(const struct ct_processes *tree)
{
	unsigned n = 0;
	for (size_t i = 0; i < tree->count; i++)
		n += tree->rows[i].marked;
	return n;
}

static void signal_tree(const struct ct_supervisor *s, const struct ct_processes *tree, int number)
{
	// The target is a child of ours that we have not waited for: its number is its own, with or without a /proc.
	if (!s->target_ended) {
		kill(s->target, number);
		kill(s->target, SIGCONT);
	}
	for (size_t i = 0; i < tree->count; i++) {
		if (!tree->rows[i].marked || tree->rows[i].pid == s->target)
			continue;
		ct_process_signal(&tree->rows[i], number);
		// A stopped process handles nothing but SIGKILL until it is continued.
		if (number != SIGKILL)
			ct_process_signal(&tree->rows[i], SIGCONT);
	}
}

void ct_supervisor_end_tree(struct ct_supervisor *s, int first_signal)
{
	if (s->phase == CT_PHASE_EMPTY)
		return;
	s->ended_by_us |= !s->target_ended;
	if (s->phase < CT_PHASE_ASKING) {
		s->phase = CT_PHASE_ASKING;
		s->first_signal = first_signal;
	}
	if (first_signal == SIGKILL && s->phase < CT_PHASE_KILLING) {
		s->first_signal = SIGKILL;
		s->phase_us = 0;  // no grace
	}
	s->scan_us = 0;
}

bool ct_supervisor_is_ending(const struct ct_supervisor *s)
{
	return s->phase >= CT_PHASE_ASKING;
}

bool ct_supervisor_is_interrupted(const struct ct_supervisor *s)
{
	return s->interrupts >= 2;
}

static void become_empty(struct ct_supervisor *s, int64_t now)
{
	s->phase = CT_PHASE_EMPTY;
	s->phase_us = now + to_us(s->options.grace_ms);  // for the drain, see is_drained()
}

static void start_killing(struct ct_supervisor *s, int64_t now)
{
	s->phase = CT_PHASE_KILLING;
	s->phase_us = now + KILL_WAIT_US;
}

// Moves the phase on while somebody is left.
static void press(struct ct_supervisor *s, const struct ct_processes *tree, int64_t now)
{
	if (s->phase == CT_PHASE_SETTLING && (now >= s->phase_us || ct_supervisor_is_interrupted(s))) {
		s->n_left_behind = count_marked(tree);
		ct_supervisor_end_tree(s, SIGTERM);
	}
	if (s->phase == CT_PHASE_ASKING) {
		s->phase = CT_PHASE_ASKED;
		s->phase_us = now + to_us(s->options.grace_ms);
		signal_tree(s, tree, s->first_signal);
		if (s->first_signal == SIGKILL)
			start_killing(s, now);
	}
	if (s->phase == CT_PHASE_ASKED && (now >= s->phase_us || ct_supervisor_is_interrupted(s)))
		start_killing(s, now);
	if (s->phase == CT_PHASE_KILLING) {
		signal_tree(s, tree, SIGKILL);
		if (now >= s->phase_us) {
			s->n_immortal = count_marked(tree);
			become_empty(s, now);
		}
	}
}

static void look_at_tree(struct ct_supervisor *s, int64_t now)
{
	CT_AUTO(ct_auto_processes) struct ct_processes tree;
	ct_supervisor_tree_read(s, &tree);
	s->child_reaped = false;
	s->scan_us = now + LOOK_AGAIN_US;
	if (count_marked(&tree) || !s->target_ended)
		press(s, &tree, now);
	else
		become_empty(s, now);
}

void ct_supervisor_ending_step(struct ct_supervisor *s, bool may_finish)
{
	int64_t now = ct_now_us();
	if (s->options.timeout_ms > 0 && s->timeout_us == 0)
		s->timeout_us = now + to_us(s->options.timeout_ms);
	if (s->timeout_us && now >= s->timeout_us && !s->timed_out && !s->target_ended) {
		s->timed_out = true;
		ct_supervisor_end_tree(s, SIGTERM);
	}
	if (s->phase == CT_PHASE_RUNNING && s->target_ended && may_finish) {
		s->phase = CT_PHASE_SETTLING;
		s->phase_us = now + SETTLE_US;
		s->scan_us = 0;
	}
	if (s->phase != CT_PHASE_RUNNING && s->phase != CT_PHASE_EMPTY && (s->child_reaped || now >= s->scan_us || ct_supervisor_is_interrupted(s)))
		look_at_tree(s, now);
}

int64_t ct_supervisor_ending_deadline(const struct ct_supervisor *s)
{
	int64_t deadline = INT64_MAX;
	if (s->timeout_us && !s->timed_out && !s->target_ended)
		deadline = s->timeout_us;
	if (s->phase != CT_PHASE_RUNNING && s->phase != CT_PHASE_EMPTY && s->scan_us < deadline)
		deadline = s->scan_us;
	if (s->phase == CT_PHASE_EMPTY && s->ended_by_us && s->phase_us < deadline)
		deadline = s->phase_us;
	return deadline;
}

void ct_supervisor_tree_kill(struct ct_supervisor *s)
{
	const struct timespec pause = {.tv_sec = 0, .tv_nsec = 10 * 1000 * 1000};
	for (int64_t until = ct_now_us() + KILL_WAIT_US; ct_now_us() < until; nanosleep(&pause, NULL)) {
		CT_AUTO(ct_auto_processes) struct ct_processes tree;
		ct_supervisor_reap(s);
		ct_supervisor_tree_read(s, &tree);
		if (s->target_ended && count_marked(&tree) == 0)
			return;
		signal_tree(s, &tree, SIGKILL);
	}
}
