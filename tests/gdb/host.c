// A host program for test_live.py: host MODE.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t got;

static void on_signal(int number)
{
	got = number;
}

static int raise_handled(int number)
{
	signal(number, on_signal);
	raise(number);
	printf("got %d\n", (int)got);
	return 3;
}

static int run_child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		puts("in the child");
		fflush(stdout);
		_exit(9);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	return 6;
}

static int print_arguments(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		fwrite(argv[i], 1, strlen(argv[i]) + 1, stdout);
	return 0;
}

static int much_output(void)
{
	char line[1000];
	memset(line, 'x', sizeof line);
	for (int i = 0; i < 20000; i++)
		fwrite(line, 1, sizeof line, stdout);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "exit") == 0)
		return atoi(argv[2]);
	if (strcmp(mode, "kill") == 0)
		return raise(atoi(argv[2]));
	if (strcmp(mode, "handle") == 0)
		return raise_handled(atoi(argv[2]));
	if (strcmp(mode, "fork") == 0)
		return run_child();
	if (strcmp(mode, "arguments") == 0)
		return print_arguments(argc, argv);
	if (strcmp(mode, "output") == 0)
		return much_output();
	if (strcmp(mode, "exec") == 0)
		execlp("sh", "sh", "-c", "echo by another program; exit 8", (char *)NULL);
#ifdef __x86_64__
	if (strcmp(mode, "breakpoint") == 0) {
		__asm__ volatile("int3");  // SIGTRAP of the processor's, as at a failing CUDA call under cuda-gdb
		return 5;
	}
#endif
	if (strcmp(mode, "wait") == 0)
		return (int)sleep(600);
	return 2;
}
