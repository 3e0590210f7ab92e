// The supervisor alone: `supervise [OPTION...] -- COMMAND...`, before and below everything else of cudatrap.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// --watch-stdout, --timeout MS, --grace MS as in struct ct_supervisor_options
// --saw FILE      the bytes that the output hook saw; FILE.1 those of stdout
// --events FILE   a line for each thing that happened, and the result
// --helper MODE   start a helper at once: "sleep" stays, "exec" becomes `sleep`, "N" ends with status N
// --hold          may_finish() says no for ever
// --end-after MS  end_tree(SIGTERM) from a timer
// --fail-loop     give up without the loop having ended, as after an error of ours
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/supervisor.h"

struct observer {
	struct ct_supervisor *supervisor;
	FILE *saw[3], *events;
	bool hold, fail_loop;
	const char *helper;
	pid_t helper_pid;
	int pipe_fd;
};

static void saw_output(void *context, enum ct_stream stream, const char *bytes, size_t length)
{
	struct observer *observer = context;
	if (observer->saw[stream])
		fwrite(bytes, 1, length, observer->saw[stream]);
}

static void saw_end(void *context, pid_t pid, int status)
{
	struct observer *observer = context;
	const char *who = pid == ct_supervisor_target(observer->supervisor) ? "target" : pid == observer->helper_pid ? "helper" : "orphan";
	fprintf(observer->events, "ended %s %d\n", who, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	fflush(observer->events);
}

static bool agree(void *context)
{
	const struct observer *observer = context;
	return !observer->hold;
}

static int run_helper(void *context)
{
	struct observer *observer = context;
	if (observer->pipe_fd >= 0 && write(observer->pipe_fd, "hello", 5) != 5)
		return 3;
	if (strcmp(observer->helper, "exec") == 0)
		execlp("sleep", "sleep", "120", (char *)NULL);
	if (strcmp(observer->helper, "sleep") == 0)
		sleep(120);
	return (int)strtol(observer->helper, NULL, 10);
}

static void helper_spoke(void *context, int fd)
{
	struct observer *observer = context;
	char text[16] = "";
	ssize_t n = read(fd, text, sizeof text - 1);
	if (n > 0) {
		fprintf(observer->events, "helper says %s\n", text);
		fflush(observer->events);
		return;
	}
	ct_supervisor_unwatch(observer->supervisor, fd);
	close(fd);
}

static void start_helper(struct observer *observer)
{
	int ends[2];
	if (!observer->helper || pipe2(ends, O_CLOEXEC) != 0)
		return;
	observer->pipe_fd = ends[1];
	observer->helper_pid = ct_supervisor_spawn_helper(observer->supervisor, run_helper, observer, NULL);
	close(ends[1]);
	ct_supervisor_watch(observer->supervisor, ends[0], helper_spoke, observer);
}

static void end_now(void *context)
{
	struct observer *observer = context;
	fprintf(observer->events, "tree %zu\n", ct_supervisor_tree(observer->supervisor, NULL, 0));
	ct_supervisor_end_tree(observer->supervisor, SIGTERM);
}

static FILE *open_private(const char *path)
{
	FILE *file = fopen(path, "we");
	if (!file)
		exit(125);
	return file;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"watch-stdout", no_argument, NULL, 'w'}, {"timeout", required_argument, NULL, 't'}, {"grace", required_argument, NULL, 'g'},
		{"saw", required_argument, NULL, 's'},	  {"events", required_argument, NULL, 'e'},  {"helper", required_argument, NULL, 'h'},
		{"hold", no_argument, NULL, 'H'},	  {"end-after", required_argument, NULL, 'E'}, {"fail-loop", no_argument, NULL, 'F'},
		{NULL, 0, NULL, 0},
	};
	struct observer observer = {.pipe_fd = -1};
	struct ct_supervisor_options options = {.envp = environ, .grace_ms = 2000};
	const char *saw = NULL, *events = "/dev/null";
	int64_t end_after_ms = 0;
	for (int c; (c = getopt_long(argc, argv, "+", long_options, NULL)) != -1;) {
		switch (c) {
		case 'w': options.watch_stdout = true; break;
		case 't': options.timeout_ms = strtol(optarg, NULL, 10); break;
		case 'g': options.grace_ms = strtol(optarg, NULL, 10); break;
		case 's': saw = optarg; break;
		case 'e': events = optarg; break;
		case 'h': observer.helper = optarg; break;
		case 'H': observer.hold = true; break;
		case 'E': end_after_ms = strtol(optarg, NULL, 10); break;
		case 'F': observer.fail_loop = true; break;
		default: return 125;
		}
	}
	options.argv = argv + optind;
	observer.events = open_private(events);
	if (saw) {
		char path[4096];
		snprintf(path, sizeof path, "%s.1", saw);
		observer.saw[CT_STDERR] = open_private(saw);
		observer.saw[CT_STDOUT] = open_private(path);
	}
	struct ct_supervisor_hooks hooks = {.context = &observer, .output = saw_output, .child_ended = saw_end, .may_finish = agree};
	struct ct_supervisor_result result = {.exit_status = 125, .exited = true};
	struct ct_error err = CT_ERROR_INIT;
	if (!ct_supervisor_start(&options, &hooks, &observer.supervisor, &err)) {
		fprintf(stderr, "supervise: %s\n", err.text);
		return err.code == CT_NOT_FOUND ? 127 : err.code == CT_DENIED ? 126 : 125;
	}
	start_helper(&observer);
	if (end_after_ms)
		ct_supervisor_timer(observer.supervisor, ct_now_us() + end_after_ms * 1000, end_now, &observer);
	if (observer.fail_loop) {
		sleep(1);
	} else if (!ct_supervisor_run(observer.supervisor, &result, &err)) {
		fprintf(stderr, "supervise: %s\n", err.text);
	}
	ct_supervisor_free(observer.supervisor);
	fprintf(observer.events, "result exited=%d code=%d signal=%d timed_out=%d status=%d left=%u immortal=%u\n", result.exited, result.exit_code,
		result.signal, result.timed_out, result.exit_status, result.n_left_behind, result.n_immortal);
	fclose(observer.events);
	for (size_t i = 0; i < CT_COUNT(observer.saw); i++)
		if (observer.saw[i])
			fclose(observer.saw[i]);
	ct_supervisor_end_as(&result);
}
