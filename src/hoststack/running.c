// Which thread is at work while all others sleep. With CUDA_LAUNCH_BLOCKING=1 the launching thread spins in the driver until its kernel is
// done (driver 580.159, seen), also while the driver writes a dump: where nobody may unwind, that tells who launched.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoststack/hoststack.h"

enum { SAMPLES = 5, SAMPLE_MS = 1, MAX_TASKS = 4096 };

struct task {
	pid_t tid;
	char name[32];
	unsigned running;
};

// "tid (name) S ...": the name may hold anything, a parenthesis too.
static bool read_task(pid_t pid, const char *tid, struct task *ret_task, char *ret_state)
{
	char path[64];
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", (int)pid, tid);
	if (!ct_read_file(path, 4096, &text, NULL))
		return false;
	const char *open = strchr(ct_str_text(&text), '('), *close = strrchr(ct_str_text(&text), ')');
	if (!open || !close || close < open || !close[1] || !close[2])
		return false;
	snprintf(ret_task->name, sizeof ret_task->name, "%.*s", (int)(close - open - 1), open + 1);
	*ret_state = close[2];
	ret_task->tid = (pid_t)strtol(tid, NULL, 10);
	return true;
}

static struct task *find(struct task *tasks, size_t n, pid_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (tasks[i].tid == tid)
			return &tasks[i];
	return NULL;
}

static void sample(pid_t pid, struct task *tasks, size_t *n)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		struct task task = {.tid = 0};
		char state;
		if (e->d_name[0] == '.' || !read_task(pid, e->d_name, &task, &state))
			continue;
		struct task *known = find(tasks, *n, task.tid);
		if (!known && *n < MAX_TASKS) {
			known = &tasks[(*n)++];
			*known = task;
		}
		if (known && state == 'R')
			known->running++;
	}
}

// The driver's threads ("cuda00001400006", "cuda-EvtHandlr") and the agent launch nothing.
static bool is_candidate(const struct task *t)
{
	return t->running == SAMPLES && !ct_starts_with(t->name, "cuda");
}

bool ct_hoststack_mark_running(struct ct_incident *incident, pid_t pid)
{
	CT_AUTO(ct_auto_free) struct task *tasks = calloc(MAX_TASKS, sizeof *tasks);
	size_t n = 0, found = 0, last = 0;
	for (unsigned i = 0; tasks && i < SAMPLES; i++) {
		sample(pid, tasks, &n);
		poll(NULL, 0, SAMPLE_MS);
	}
	for (size_t i = 0; i < n; i++)
		if (is_candidate(&tasks[i])) {
			found++;
			last = i;
		}
	if (found != 1)
		return false;
	incident->gpu.kernel.has_launch_tid = false;
	ct_hoststack_mark_thread(incident, tasks[last].tid, tasks[last].name, "the only thread at work while the driver held the process");
	return true;
}
