// supervisor/: runs one after the other leave nothing behind in us, and the loop keeps its promises to those who hook in.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "supervisor/processes.h"
#include "supervisor/supervisor.h"
#include "unit.h"

static unsigned count_open_files(void)
{
	unsigned n = 0;
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir("/proc/self/fd");
	while (dir && readdir(dir))
		n++;
	return n;
}

struct seen {
	struct ct_supervisor *supervisor;
	struct ct_str text, order;
	unsigned n_fired, n_ended;
	int ends[2];
};

static void on_output(void *context, enum ct_stream stream, const char *bytes, size_t length)
{
	struct seen *seen = context;
	CU_ASSERT_EQUAL(stream, CT_STDERR);
	ct_str_append(&seen->text, bytes, length);
}

static void on_end(void *context, pid_t pid, int status)
{
	struct seen *seen = context;
	(void)status;
	seen->n_ended++;
	if (pid == ct_supervisor_target(seen->supervisor))
		ct_str_addf(&seen->order, "end after %zu;", seen->text.length);
}

static struct ct_supervisor *start(struct seen *seen, const char *script)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	// The strings are not written to, argv is copied by exec: the cast only fits C's type of an argument list.
	struct ct_supervisor_options options = {.argv = (char *const *)argv, .envp = environ, .grace_ms = 1000};
	const struct ct_supervisor_hooks hooks = {.context = seen, .output = on_output, .child_ended = on_end};
	struct ct_error err = CT_ERROR_INIT;
	if (!ct_supervisor_start(&options, &hooks, &seen->supervisor, &err))
		CU_FAIL_FATAL("start");
	return seen->supervisor;
}

static struct ct_supervisor_result finish(struct seen *seen)
{
	struct ct_supervisor_result result = {.exit_status = -1};
	CU_ASSERT_TRUE(ct_supervisor_run(seen->supervisor, &result, NULL));
	ct_supervisor_free(seen->supervisor);
	ct_str_done(&seen->text);
	ct_str_done(&seen->order);
	return result;
}

static void test_a_hundred_runs_leak_nothing(void)
{
	unsigned before = count_open_files();
	sigset_t mask, mask_before;
	sigprocmask(SIG_SETMASK, NULL, &mask_before);
	for (int i = 0; i < 100; i++) {
		struct seen seen = {.supervisor = NULL};
		start(&seen, "exit 3");
		CU_ASSERT_EQUAL(finish(&seen).exit_status, 3);
	}
	CU_ASSERT_EQUAL(count_open_files(), before);
	CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);  // no child, alive or dead
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int number = 1; number < 32; number++)
		CU_ASSERT_EQUAL(sigismember(&mask, number), sigismember(&mask_before, number));
}

static void test_failed_start_leaves_nothing(void)
{
	unsigned before = count_open_files();
	char name[] = "/no/such/command", *argv[] = {name, NULL}, *none[] = {NULL};
	struct ct_supervisor_options options = {.argv = argv, .envp = environ};
	struct ct_supervisor *s = (struct ct_supervisor *)&options;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_supervisor_start(&options, NULL, &s, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	CU_ASSERT_STRING_EQUAL(err.text, "/no/such/command: No such file or directory");
	CU_ASSERT_PTR_EQUAL(s, (struct ct_supervisor *)&options);
	options.argv = none;
	CU_ASSERT_FALSE(ct_supervisor_start(&options, NULL, &s, &err));
	CU_ASSERT_EQUAL(err.code, CT_USAGE);
	CU_ASSERT_EQUAL(count_open_files(), before);
	CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
	ct_supervisor_free(NULL);
}

static void test_last_words_come_before_the_end(void)
{
	struct seen seen = {.supervisor = NULL};
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), saved = dup(2);
	dup2(null, 2);
	start(&seen, "printf 12345 >&2");
	struct ct_supervisor_result result = {.exit_status = -1};
	CU_ASSERT_TRUE(ct_supervisor_run(seen.supervisor, &result, NULL));
	CU_ASSERT_STRING_EQUAL(ct_str_text(&seen.text), "12345");
	CU_ASSERT_STRING_EQUAL(ct_str_text(&seen.order), "end after 5;");
	ct_supervisor_free(seen.supervisor);
	ct_str_done(&seen.text);
	ct_str_done(&seen.order);
	dup2(saved, 2);
	close(saved);
	close(null);
}

static void fire(void *context)
{
	struct seen *seen = context;
	if (++seen->n_fired < 3)
		ct_supervisor_timer(seen->supervisor, ct_now_us(), fire, seen);
	else
		ct_supervisor_end_tree(seen->supervisor, SIGKILL);
}

static void test_a_timer_may_set_the_next(void)
{
	struct seen seen = {.supervisor = NULL};
	start(&seen, "sleep 100");
	CU_ASSERT_FALSE(ct_supervisor_is_ending(seen.supervisor));
	ct_supervisor_timer(seen.supervisor, ct_now_us(), fire, &seen);
	struct ct_supervisor_result result = finish(&seen);
	CU_ASSERT_EQUAL(seen.n_fired, 3);
	CU_ASSERT_EQUAL(result.signal, SIGKILL);
	CU_ASSERT_EQUAL(result.exit_status, 128 + SIGKILL);
	CU_ASSERT_EQUAL(result.n_left_behind, 0);
}

static void second_ready(void *context, int fd)
{
	struct seen *seen = context;
	char byte;
	CU_ASSERT_EQUAL(read(fd, &byte, 1), 1);
	ct_supervisor_unwatch(seen->supervisor, fd);
	ct_supervisor_end_tree(seen->supervisor, SIGTERM);
}

// Replaces its own watch by another one on the same descriptor, which must not be lost, and leaves one that is closed.
static void first_ready(void *context, int fd)
{
	struct seen *seen = context;
	int closed = dup(fd);
	seen->n_fired++;
	ct_supervisor_unwatch(seen->supervisor, fd);
	for (int i = 0; i < 20; i++)
		ct_supervisor_watch(seen->supervisor, closed, first_ready, seen);
	close(closed);
	ct_supervisor_watch(seen->supervisor, fd, second_ready, seen);
}

static void test_watches_may_change_while_they_are_served(void)
{
	struct seen seen = {.supervisor = NULL};
	CU_ASSERT_EQUAL(pipe2(seen.ends, O_CLOEXEC), 0);
	CU_ASSERT_EQUAL(write(seen.ends[1], "x", 1), 1);
	start(&seen, "sleep 100");
	ct_supervisor_watch(seen.supervisor, seen.ends[0], first_ready, &seen);
	CU_ASSERT_EQUAL(finish(&seen).signal, SIGTERM);
	CU_ASSERT_EQUAL(seen.n_fired, 1);
	close(seen.ends[0]);
	close(seen.ends[1]);
}

static void test_tree_counts_the_target_and_what_it_started(void)
{
	struct seen seen = {.supervisor = NULL};
	pid_t pids[1] = {0};
	struct ct_supervisor *s = start(&seen, "sleep 100 & sleep 100 & exec sleep 100");  // a shell that lives on may reap one itself
	while (ct_supervisor_tree(s, pids, 1) != 3)  // it is as fast as it is
		usleep(1000);
	CU_ASSERT_NOT_EQUAL(pids[0], 0);
	ct_supervisor_end_tree(s, SIGTERM);
	CU_ASSERT_TRUE(ct_supervisor_is_ending(s));
	CU_ASSERT_EQUAL(finish(&seen).signal, SIGTERM);
	CU_ASSERT_EQUAL(seen.n_ended, 3);
}

static void test_a_process_is_named_by_its_start(void)
{
	struct ct_process self, child;
	CU_ASSERT_TRUE(ct_process_read(getpid(), &self));
	CU_ASSERT_EQUAL(self.pid, getpid());
	CU_ASSERT_EQUAL(self.parent, getppid());
	CU_ASSERT_EQUAL(self.group, getpgrp());
	CU_ASSERT_EQUAL(self.session, getsid(0));
	CU_ASSERT_TRUE(ct_process_is_live(&self));
	CU_ASSERT_FALSE(ct_process_read(-1, &self));
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	CU_ASSERT_TRUE(ct_process_read(pid, &child));
	struct ct_process other = child;
	other.start_ticks--;
	ct_process_signal(&other, SIGKILL);  // an earlier owner of the number: not this one
	CU_ASSERT_EQUAL(waitpid(pid, NULL, WNOHANG), 0);
	ct_process_signal(&child, SIGTERM);
	siginfo_t info;
	CU_ASSERT_EQUAL(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	CU_ASSERT_EQUAL(info.si_status, SIGTERM);
	CU_ASSERT_TRUE(ct_process_read(pid, &child));
	CU_ASSERT_FALSE(ct_process_is_live(&child));
	waitpid(pid, NULL, 0);
	ct_process_signal(&child, SIGTERM);  // gone: nothing happens
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"a hundred runs leak nothing", test_a_hundred_runs_leak_nothing},
		{"failed start leaves nothing", test_failed_start_leaves_nothing},
		{"last words come before the end", test_last_words_come_before_the_end},
		{"a timer may set the next", test_a_timer_may_set_the_next},
		{"watches may change while they are served", test_watches_may_change_while_they_are_served},
		{"tree counts the target and what it started", test_tree_counts_the_target_and_what_it_started},
		{"a process is named by its start", test_a_process_is_named_by_its_start},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("supervisor", tests);
}
