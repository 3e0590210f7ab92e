// A program with many ways to run, to fault and to misbehave: `fakeapp MODE [ARG]`. What a supervisor must survive.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "fakecuda.h"

// No test waits for this; a run whose supervisor fails must still end some day.
#define LONG_S 120

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		exit(3);
}

static void write_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = write(fd, bytes, length);
		if (n <= 0)
			exit(4);
		bytes += n;
		length -= (size_t)n;
	}
}

static int fault(long n_lines)
{
	int code = fake_launch(n_lines);
	if (code == 0)
		return 0;
	fprintf(stderr, "fakeapp: CUDA error %d: device-side assert triggered\n", code);
	return 1;
}

static int run_ok(long n)
{
	(void)n;
	say("ok\n");
	fprintf(stderr, "note\n");
	return fault(0);
}

static int run_assert(long n)
{
	return fault(n > 0 ? n : 1);
}

// A program that goes on after its first fault, into the next.
static int run_assert_twice(long n)
{
	fault(n > 0 ? n : 1);
	return fault(n > 0 ? n : 1);
}

typedef int proc_address_fn(const char *name, void **ret_function, int version, unsigned long flags, int *ret_status);
typedef int launch_fn(long function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
		      void **params, void **extra);
typedef int sync_fn(void);

// A program whose calls go the way of libcudart, that sees its error, cleans up and has a status of its own. n > 1: takes its time.
static int run_assert_by_driver(long n)
{
	void *found = dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2");
	proc_address_fn *proc_address = NULL;
	launch_fn *launch = NULL;
	sync_fn *sync = NULL;
	memcpy(&proc_address, &found, sizeof found);
	if (!found || proc_address("cuLaunchKernel", &found, 12000, 0, NULL) != 0)
		return 8;
	memcpy(&launch, &found, sizeof found);
	if (proc_address("cuCtxSynchronize", &found, 12000, 0, NULL) != 0)
		return 8;
	memcpy(&sync, &found, sizeof found);
	int healthy = sync(), launched = launch(0, 1, 2, 3, 4, 5, 6, 7, (void *)8, (void **)9, (void **)10);
	int failed = launch(1, 1, 2, 3, 4, 5, 6, 7, (void *)8, (void **)9, (void **)10);
	printf("before: %d %d; the launch returned %d, the next call %d\n", healthy, launched, failed, sync());
	fflush(stdout);
	if (n > 1)
		sleep((unsigned)n);
	say("cleaned up\n");
	return 7;
}

static int run_children(long n)
{
	int worst = 0, status;
	for (long i = 0; i < (n > 0 ? n : 1); i++)
		if (fork() == 0)
			_exit(fault(1));
	while (wait(&status) > 0)
		if (status)
			worst = 1;
	return worst;
}

static int run_exit(long n)
{
	return (int)n;
}

static int run_signal(long n)
{
	const struct rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
	setrlimit(RLIMIT_CORE, &no_core);
	signal((int)n, SIG_DFL);
	raise((int)n);
	return 0;
}

static int run_ignore_term(long n)
{
	(void)n;
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	say("ready\n");
	sleep(LONG_S);
	return 0;
}

static int run_sleep(long n)
{
	say("ready\n");
	sleep(n > 0 ? (unsigned)n : LONG_S);
	return 0;
}

static void say_pid(const char *what)
{
	char line[64];
	snprintf(line, sizeof line, "%s %d\n", what, (int)getpid());
	say(line);
}

// Double fork and setsid(): in no group, session or family of ours any more; stdio on /dev/null but for stderr.
static int run_daemon(long n)
{
	int fds[2];
	char byte;
	if (pipe(fds) != 0)
		return 3;
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			say_pid("daemon");
			int null = open("/dev/null", O_RDWR);
			dup2(null, 0);
			dup2(null, 1);
			write_all(fds[1], "x", 1);
			sleep(LONG_S);
		}
		_exit(0);
	}
	if (read(fds[0], &byte, 1) != 1)
		return 3;
	while (wait(NULL) > 0)
		;
	return (int)n;
}

// A child that sleeps in the same group; the parent ends at once (n == 0) or stays.
static int run_grandchild(long n)
{
	int fds[2];
	char byte;
	if (pipe(fds) != 0)
		return 3;
	if (fork() == 0) {
		say_pid("child");
		if (fork() == 0) {
			say_pid("grandchild");
			write_all(fds[1], "x", 1);
		}
		sleep(LONG_S);
		_exit(0);
	}
	if (read(fds[0], &byte, 1) != 1)
		return 3;
	if (n)
		sleep(LONG_S);
	return 0;
}

static int run_many_children(long n)
{
	for (long i = 0; i < n; i++)
		if (fork() == 0) {
			sleep(LONG_S);
			_exit(0);
		}
	say("ready\n");
	return 0;
}

static int run_close_stderr(long n)
{
	close(2);
	say("closed\n");
	sleep((unsigned)n);
	return 7;
}

static int run_big_line(long n)
{
	char chunk[4096];
	memset(chunk, 'a', sizeof chunk);
	for (; n > 0; n -= (long)sizeof chunk)
		write_all(2, chunk, n < (long)sizeof chunk ? (size_t)n : sizeof chunk);
	return 0;  // no newline at its end
}

// Every byte value, in an order that would show a lost or translated one.
static int run_binary(long n)
{
	char bytes[256];
	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	for (long i = 0; i < (n > 0 ? n : 1); i++)
		write_all(2, bytes, sizeof bytes);
	return 0;
}

static int run_progress(long n)
{
	for (long i = 0; i <= n; i++) {
		char line[64];
		int length = snprintf(line, sizeof line, "\r%3ld%% |%-10.*s|", i * 100 / n, (int)(i * 10 / n), "##########");
		write_all(2, line, (size_t)length);
	}
	write_all(2, "\n", 1);
	return 0;
}

static int run_cat(long n)
{
	char buffer[65536];
	ssize_t got;
	(void)n;
	while ((got = read(0, buffer, sizeof buffer)) > 0)
		write_all(1, buffer, (size_t)got);
	return got < 0 ? 5 : 0;
}

static int run_isatty(long n)
{
	(void)n;
	printf("%d %d %d\n", isatty(0), isatty(1), isatty(2));
	return 0;
}

static volatile sig_atomic_t resized, hits[NSIG];

static void on_winch(int number)
{
	(void)number;
	resized = 1;
}

// The size of stderr, again after each SIGWINCH, until it has n columns.
static int run_winsize(long n)
{
	struct winsize size = {.ws_row = 0, .ws_col = 0};
	struct sigaction action = {.sa_handler = on_winch};
	sigset_t winch, before;
	sigemptyset(&winch);
	sigaddset(&winch, SIGWINCH);
	sigprocmask(SIG_BLOCK, &winch, &before);
	sigaction(SIGWINCH, &action, NULL);
	while (ioctl(2, TIOCGWINSZ, &size) == 0) {
		printf("size %d %d\n", size.ws_row, size.ws_col);
		fflush(stdout);
		if (size.ws_col == n)
			return 0;
		for (resized = 0; !resized;)
			sigsuspend(&before);
	}
	return 3;
}

static void on_signal(int number)
{
	hits[number]++;
}

// Says which signals come and how often; ends at SIGTERM, with the list.
static int run_count_signals(long n)
{
	static const int counted[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGALRM};
	sigset_t all, before;
	struct sigaction action = {.sa_handler = on_signal};
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
		sigaction(counted[i], &action, NULL);
	say("ready\n");
	sigemptyset(&before);
	while (!hits[SIGTERM] && n-- != 1) {
		sigsuspend(&before);
		say("got\n");
	}
	for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
		printf("%d=%d ", counted[i], (int)hits[counted[i]]);
	puts("");
	return 0;
}

// What a program can see of how it was started: ignored and blocked signals, open descriptors.
static int run_inherited(long n)
{
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");
	(void)n;
	while (status && fgets(line, sizeof line, status))
		if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0 || strncmp(line, "SigCgt", 6) == 0)
			fputs(line, stdout);
	if (status)
		fclose(status);
	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
	return 0;
}

static int run_raw_and_die(long n)
{
	struct termios modes;
	if (tcgetattr(0, &modes) != 0)
		return 3;
	cfmakeraw(&modes);
	tcsetattr(0, TCSANOW, &modes);
	say("raw\r\n");
	return n ? run_signal(n) : run_sleep(0);
}

// Writes on stdout (1) or stderr (2) until nobody takes it.
static int run_flood(long n)
{
	for (;;)
		if (write((int)n, "y\n", 2) < 0)
			return 6;
}

static const struct {
	const char *name;
	int (*run)(long n);
} modes[] = {
	{"ok", run_ok},
	{"assert", run_assert},
	{"assert-twice", run_assert_twice},
	{"assert-by-driver", run_assert_by_driver},
	{"assert-children", run_children},
	{"exit", run_exit},
	{"signal", run_signal},
	{"ignore-term", run_ignore_term},
	{"sleep", run_sleep},
	{"daemon", run_daemon},
	{"grandchild", run_grandchild},
	{"many-children", run_many_children},
	{"close-stderr", run_close_stderr},
	{"big-line", run_big_line},
	{"binary", run_binary},
	{"progress", run_progress},
	{"cat", run_cat},
	{"isatty", run_isatty},
	{"winsize", run_winsize},
	{"count-signals", run_count_signals},
	{"inherited", run_inherited},
	{"raw-and-die", run_raw_and_die},
	{"flood", run_flood},
};

int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof modes[0]; i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			return modes[i].run(n);
	fprintf(stderr, "usage: fakeapp MODE [NUMBER]\n");
	return 2;
}
