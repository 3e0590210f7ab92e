// Processes of the tree whose stderr does not come to us, because it was sent to a file (`train.py > log 2>&1` in a script, a test runner that
// captures, a launcher with a log a rank): the driver's line that it waits is in that file, and without it the process would wait for ever.
// Only those that use CUDA are looked at: they have an agent, and its socket bears their number.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/engine_priv.h"

enum {
	LOOK_MS = 500,
	// Of what was there before the first look: the line and what came just before it.
	TAIL_BYTES = 64 * 1024,
	ROUND_BYTES = 1024 * 1024,  // a look must not take longer than a moment
};

struct ct_redirected {
	struct ct_run *run;
	int fd;
	dev_t dev;
	ino_t inode;
	struct ct_loglines *lines;
};

static void on_waiting(void *context, int64_t pid)
{
	struct ct_redirected *file = context;
	struct ct_run *run = file->run;
	// The log that belongs to the fault is in the file that told of it.
	if (!run->incident)
		run->fault_lines = file->lines;
	ct_run_waiting(run, pid);
}

static void read_more(struct ct_redirected *file)
{
	char buffer[16384];
	ssize_t n = 1;
	for (size_t total = 0; n > 0 && total < ROUND_BYTES; total += (size_t)n) {
		n = read(file->fd, buffer, sizeof buffer);
		if (n <= 0)
			return;
		ct_loglines_feed(file->lines, CT_STDERR, buffer, (size_t)n);
	}
}

static bool is_known(const struct ct_run *run, const struct stat *st)
{
	for (size_t i = 0; i < run->n_redirected; i++)
		if (run->redirected[i]->dev == st->st_dev && run->redirected[i]->inode == st->st_ino)
			return true;
	return false;
}

static void add_file(struct ct_run *run, pid_t pid)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof path, "/proc/%d/fd/2", (int)pid);
	if (run->n_redirected == CT_COUNT(run->redirected) || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || is_known(run, &st))
		return;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (st.st_size > TAIL_BYTES)
		lseek(fd, st.st_size - TAIL_BYTES, SEEK_SET);
	struct ct_redirected *file = ct_arena_alloc(&run->arena, sizeof *file);
	*file = (struct ct_redirected){.run = run, .fd = fd, .dev = st.st_dev, .inode = st.st_ino, .lines = ct_loglines_new()};
	ct_loglines_on_waiting(file->lines, on_waiting, file);
	run->redirected[run->n_redirected++] = file;
	ct_run_say(run, "stderr of process %d is a file: it is read for what the driver says", (int)pid);
}

static void find_files(struct ct_run *run)
{
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(run->agent_dir);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char *end = NULL;
		long pid = strtol(e->d_name, &end, 10);
		// The folder is the target's, too: a number in it is believed when it is one of the tree.
		if (pid > 0 && pid < INT_MAX && strcmp(end, ".sock") == 0 && ct_supervisor_has(run->supervisor, (pid_t)pid))
			add_file(run, (pid_t)pid);
	}
}

void ct_run_read_redirected(struct ct_run *run)
{
	for (size_t i = 0; i < run->n_redirected; i++)
		read_more(run->redirected[i]);
}

static void look(void *context)
{
	struct ct_run *run = context;
	find_files(run);
	ct_run_read_redirected(run);
	ct_supervisor_timer(run->supervisor, ct_now_us() + (int64_t)LOOK_MS * 1000, look, run);
}

void ct_run_watch_redirected(struct ct_run *run)
{
	if (run->agent_dir)
		ct_supervisor_timer(run->supervisor, ct_now_us() + (int64_t)LOOK_MS * 1000, look, run);
}

void ct_run_free_redirected(struct ct_run *run)
{
	for (size_t i = 0; i < run->n_redirected; i++) {
		close(run->redirected[i]->fd);
		ct_loglines_free(run->redirected[i]->lines);
	}
	run->n_redirected = 0;
}
