// The agent's Python stacks and those read from outside, as one: each knows something that the other does not.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "hoststack/hoststack.h"

// "Trainer.step" and "step": a code object has the qualified name only from 3.11 on.
static const char *last_part(const char *name)
{
	const char *dot = name ? strrchr(name, '.') : NULL;
	return dot ? dot + 1 : name ? name : "";
}

static bool same_functions(const struct ct_python_thread *a, const struct ct_python_thread *b)
{
	if (a->n_frames != b->n_frames)
		return false;
	for (size_t i = 0; i < a->n_frames; i++)
		if (strcmp(last_part(a->frames[i].function), last_part(b->frames[i].function)) != 0)
			return false;
	return true;
}

static const struct ct_python_thread *thread_of(const struct ct_python_stacks *stacks, int64_t tid)
{
	for (size_t i = 0; tid && i < stacks->n_threads; i++)
		if (stacks->threads[i].tid == tid)
			return &stacks->threads[i];
	return NULL;
}

static struct ct_python_thread combine_thread(struct ct_arena *arena, const struct ct_python_thread *agent, const struct ct_python_thread *walk)
{
	struct ct_python_thread both = *agent;
	if (!walk || !same_functions(agent, walk))
		return both;
	both.frames = ct_arena_array(arena, agent->n_frames, sizeof *both.frames);
	for (size_t i = 0; i < agent->n_frames; i++) {
		both.frames[i] = agent->frames[i];
		both.frames[i].has_entry = walk->frames[i].has_entry;
		both.frames[i].is_entry = walk->frames[i].is_entry;
	}
	both.cut |= walk->cut;
	return both;
}

void ct_hoststack_combine(struct ct_arena *arena, const struct ct_python_stacks *agent, const struct ct_python_stacks *walk,
			  struct ct_python_stacks *ret_stacks)
{
	struct ct_python_stacks both = {.version = agent->version ? agent->version : walk->version};
	both.threads = ct_arena_array(arena, agent->n_threads + walk->n_threads, sizeof *both.threads);
	for (size_t i = 0; i < agent->n_threads; i++)
		both.threads[both.n_threads++] = combine_thread(arena, &agent->threads[i], thread_of(walk, agent->threads[i].tid));
	for (size_t i = 0; i < walk->n_threads; i++)
		if (!thread_of(agent, walk->threads[i].tid))
			both.threads[both.n_threads++] = walk->threads[i];
	*ret_stacks = both;
}
