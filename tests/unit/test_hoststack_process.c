// Unwinding of real processes: it says why it cannot, and leaves them as they were.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hoststack/hoststack.h"
#include "unit.h"

enum { SECOND = 1000 * 1000 };

// Children never outlive their test: they end with the pipe's write end, which only this process holds.
struct child {
	pid_t pid;
	int hold;
};

struct ends {
	int hold, ready;
};

static void read_to_end(int fd)
{
	char byte;
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
}

static void *wait_for_end(void *arg)
{
	const struct ends *ends = arg;
	// Told from in here: a thread that was only created has no stack to speak of yet.
	if (write(ends->ready, "x", 1) == 1)
		read_to_end(ends->hold);
	return NULL;
}

static struct child start_child_of(bool two_threads)
{
	int fds[2], ready[2];
	CU_ASSERT_EQUAL_FATAL(pipe(fds) | pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		pthread_t thread;
		close(fds[1]);
		struct ends ends = {fds[0], ready[1]};
		if (two_threads)
			pthread_create(&thread, NULL, wait_for_end, &ends);
		wait_for_end(&ends);
		_exit(7);
	}
	char byte;
	for (int i = 0; i < (two_threads ? 2 : 1); i++)
		CU_ASSERT_TRUE_FATAL(pid > 0 && read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	close(fds[0]);
	return (struct child){pid, fds[1]};
}

static struct child start_child(void)
{
	return start_child_of(true);
}

// Its own end, in its own time, with its own status.
static void expect_ends_by_itself(struct child child)
{
	int status = 0;
	close(child.hold);
	CU_ASSERT_EQUAL(waitpid(child.pid, &status, 0), child.pid);
	CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static char state_of(pid_t pid)
{
	char path[64], text[512] = "";
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	char *p = n ? strrchr(text, ')') : NULL;
	return p ? p[2] : 0;
}

static bool has_function(const struct ct_host_thread *t, const char *name)
{
	for (size_t i = 0; i < t->n_frames; i++)
		if (t->frames[i].function && strcmp(t->frames[i].function, name) == 0)
			return true;
	return false;
}

static bool native(struct ct_incident *incident, pid_t pid, int64_t us, struct ct_error *err)
{
	*err = (struct ct_error)CT_ERROR_INIT;
	return ct_hoststack_native(incident, pid, ct_now_us() + us, false, err);
}

static void test_all_threads_of_a_blocked_process(void)
{
	struct child child = start_child();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_error err;
	CU_ASSERT_TRUE(native(incident, child.pid, 20 * SECOND, &err));
	CU_ASSERT_EQUAL_FATAL(incident->n_threads, 2);
	CU_ASSERT_EQUAL(incident->threads[0].tid, child.pid);
	CU_ASSERT_TRUE(has_function(&incident->threads[0], "ct_unit_run"));
	CU_ASSERT_TRUE(has_function(&incident->threads[1], "wait_for_end"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident->threads[0].frames[0].module);
	CU_ASSERT_STRING_EQUAL(ct_basename(incident->threads[0].frames[0].module), "libc.so.6");
	expect_ends_by_itself(child);
}

static void test_a_stopped_process_stays_stopped(void)
{
	struct child child = start_child();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_error err;
	int status = 0;
	kill(child.pid, SIGSTOP);
	CU_ASSERT_EQUAL(waitpid(child.pid, &status, WUNTRACED), child.pid);
	CU_ASSERT_TRUE(native(incident, child.pid, 20 * SECOND, &err));
	CU_ASSERT_EQUAL(incident->n_threads, 2);
	CU_ASSERT_EQUAL(state_of(child.pid), 'T');
	kill(child.pid, SIGCONT);
	expect_ends_by_itself(child);
}

static void test_a_passed_deadline_is_a_timeout(void)
{
	struct child child = start_child();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_error err;
	CU_ASSERT_FALSE(native(incident, child.pid, -1, &err));
	CU_ASSERT_EQUAL(err.code, CT_TIMEOUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "0 of 2 threads"));
	expect_ends_by_itself(child);
}

// Traces the main thread of the child until `hold` is closed.
static struct child start_tracer(struct child child)
{
	int ready[2], hold[2];
	CU_ASSERT_EQUAL_FATAL(pipe(ready) | pipe(hold), 0);
	pid_t tracer = fork();
	if (tracer == 0) {
		close(hold[1]);
		close(child.hold);
		long rc = ptrace(PTRACE_SEIZE, child.pid, NULL, NULL);
		if (write(ready[1], rc == 0 ? "y" : "n", 1) == 1)
			read_to_end(hold[0]);
		_exit(7);
	}
	char answer = 0;
	CU_ASSERT_TRUE(read(ready[0], &answer, 1) == 1 && answer == 'y');
	close(hold[0]);
	close(ready[0]);
	close(ready[1]);
	return (struct child){tracer, hold[1]};
}

static void test_a_traced_process_is_denied_and_the_tracer_named(void)
{
	struct child child = start_child_of(false), tracer = start_tracer(child);
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_error err;
	char number[16];
	snprintf(number, sizeof number, "%d", (int)tracer.pid);
	CU_ASSERT_FALSE(native(incident, child.pid, 20 * SECOND, &err));
	CU_ASSERT_EQUAL(err.code, CT_DENIED);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, number));
	CU_ASSERT_EQUAL(incident->n_threads, 0);
	expect_ends_by_itself(tracer);
	expect_ends_by_itself(child);
}

static void test_a_traced_thread_does_not_hide_the_others(void)
{
	struct child child = start_child(), tracer = start_tracer(child);
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_error err;
	CU_ASSERT_TRUE(native(incident, child.pid, 20 * SECOND, &err));
	CU_ASSERT_EQUAL(incident->n_threads, 1);
	CU_ASSERT_EQUAL_FATAL(incident->n_notes, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(incident->notes[0], "refused"));
	expect_ends_by_itself(tracer);
	expect_ends_by_itself(child);
}

static void test_processes_that_are_not_there(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_python_stacks stacks = {0};
	struct ct_error err;
	struct child child = start_child();
	int status = 0;
	CU_ASSERT_FALSE(native(incident, getpid(), SECOND, &err));
	CU_ASSERT_EQUAL(err.code, CT_USAGE);
	CU_ASSERT_FALSE(ct_hoststack_python_walk(&incident->arena, child.pid, &stacks, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	kill(child.pid, SIGKILL);
	siginfo_t info;
	waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT);
	// Ended, and its status not yet taken: it is ours to take afterwards.
	CU_ASSERT_FALSE(native(incident, child.pid, SECOND, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	CU_ASSERT_EQUAL(waitpid(child.pid, &status, 0), child.pid);
	CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CU_ASSERT_FALSE(native(incident, child.pid, SECOND, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	CU_ASSERT_FALSE(ct_hoststack_python_walk(&incident->arena, child.pid, &stacks, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	CU_ASSERT_EQUAL(incident->n_threads, 0);
	close(child.hold);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"all threads of a blocked process", test_all_threads_of_a_blocked_process},
		{"a stopped process stays stopped", test_a_stopped_process_stays_stopped},
		{"a passed deadline is a timeout", test_a_passed_deadline_is_a_timeout},
		{"a traced process is denied and the tracer named", test_a_traced_process_is_denied_and_the_tracer_named},
		{"a traced thread does not hide the others", test_a_traced_thread_does_not_hide_the_others},
		{"processes that are not there", test_processes_that_are_not_there},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("hoststack_process", tests);
}
