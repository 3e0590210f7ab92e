// A program for tests of the agent, without Python: what dlsym answers, from one thread and from many, and how the process ends.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORM_THREADS 8
#define STORM_ROUNDS 2000

int next_of_1(void);
int next_of_2(void);
int next_of_3(void);
int who(void);

static int call(void *found)
{
	int (*function)(void) = NULL;
	memcpy(&function, &found, sizeof function);
	return function ? function() : 0;
}

static int show_next(void)
{
	printf("default %d own %d next %d %d %d\n", call(dlsym(RTLD_DEFAULT, "who")), call(dlsym(RTLD_NEXT, "who")), next_of_1(), next_of_2(), next_of_3());
	dlerror();
	void *missing = dlsym(RTLD_DEFAULT, "no_such_function");
	printf("missing %s, error %s\n", missing ? "found" : "null", dlerror() ? "set" : "lost");
	return 0;
}

static int count_threads(void)
{
	int n = 0;
	DIR *tasks = opendir("/proc/self/task");
	for (struct dirent *e = tasks ? readdir(tasks) : NULL; e; e = readdir(tasks))
		n += e->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return n;
}

static void *storm(void *libcuda)
{
	void *first = dlsym(libcuda, "cuInit");
	for (int i = 0; i < STORM_ROUNDS; i++)
		if (!first || dlsym(libcuda, "cuInit") != first || dlsym(libcuda, "cuNothing") || call(dlsym(RTLD_DEFAULT, "who")) != 1)
			return libcuda;
	return NULL;
}

static int show_storm(void *libcuda)
{
	pthread_t threads[STORM_THREADS];
	int wrong = 0;
	for (int i = 0; i < STORM_THREADS; i++)
		if (pthread_create(&threads[i], NULL, storm, libcuda) != 0)
			return 1;
	for (int i = 0; i < STORM_THREADS; i++) {
		void *result = NULL;
		pthread_join(threads[i], &result);
		wrong += result != NULL;
	}
	printf("wrong %d threads %d\n", wrong, count_threads());
	return 0;
}

static void *last_words(void *unused)
{
	usleep(100000);  // the main thread is gone by then, or goes while we print: both are fine
	puts("last thread done");
	return unused;
}

// The main thread ends, the process goes on until its last thread ends.
static int leave_main_thread(void *libcuda)
{
	pthread_t thread;
	if (!dlsym(libcuda, "cuInit") || pthread_create(&thread, NULL, last_words, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "next") == 0)
		return show_next();
	void *libcuda = dlopen("libcuda.so.1", RTLD_NOW);
	if (!libcuda) {
		fprintf(stderr, "%s\n", dlerror());
		return 99;
	}
	if (strcmp(what, "storm") == 0)
		return show_storm(libcuda);
	if (strcmp(what, "pthread-exit") == 0)
		return leave_main_thread(libcuda);
	fprintf(stderr, "usage: agent_probe next|storm|pthread-exit\n");
	return 99;
}
