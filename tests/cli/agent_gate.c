// A program for tests of the agent's gates, with the driver in itself: what goes through a gate, and who comes out when it is shut.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_HELD = 24, WRONG = 901, PASSED = 902 };

static atomic_int n_inside;

// ---- The driver ----------------------------------------------------------------------------------------------------------

static int hold(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, long m, long n, long o, long p)
{
	if (a != 1 || b != 2 || c != 3 || d != 4 || e != 5 || f != 6 || g != 7 || h != 8 || i != 9 || j != 10 || k != 11 || l != 12 || m != 13 || n != 14 ||
	    o != 15 || p != 16)
		return WRONG;
	atomic_fetch_add(&n_inside, 1);
	for (;;)
		sleep(1000);
}

static int call_back(int (*function)(void))
{
	return function() ? PASSED : 0;
}

static int jump(jmp_buf *where)
{
	longjmp(*where, 1);
}

static int text(void)
{
	return PASSED;
}

int cuGetProcAddress_v2(const char *name, void **ret_function, int version, unsigned long flags, int *ret_status) __attribute__((visibility("default")));
int cuGetProcAddress_v2(const char *name, void **ret_function, int version, unsigned long flags, int *ret_status)
{
	int (*const holds)(long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long) = hold;
	int (*const calls)(int (*)(void)) = call_back;
	int (*const jumps)(jmp_buf *) = jump;
	int (*const texts)(void) = text;
	(void)version;
	(void)flags;
	(void)ret_status;
	if (strcmp(name, "cuHold") == 0)
		memcpy(ret_function, &holds, sizeof holds);
	else if (strcmp(name, "cuCallBack") == 0)
		memcpy(ret_function, &calls, sizeof calls);
	else if (strcmp(name, "cuJump") == 0)
		memcpy(ret_function, &jumps, sizeof jumps);
	else if (strcmp(name, "cuGetErrorString") == 0)
		memcpy(ret_function, &texts, sizeof texts);
	else
		return 500;
	return 0;
}

// ---- The program ---------------------------------------------------------------------------------------------------------

static struct {
	int (*hold)(long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long);
	int (*call_back)(int (*)(void));
	int (*jump)(jmp_buf *);
	int (*text)(void);
} cu;

static int find(const char *name, void *ret, size_t size)
{
	void *entry = dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2"), *found = NULL;
	int (*proc_address)(const char *, void **, int, unsigned long, int *) = NULL;
	memcpy(&proc_address, &entry, sizeof entry);
	int rc = proc_address ? proc_address(name, &found, 12000, 0, NULL) : 1;
	memcpy(ret, &found, size);
	return rc;
}

static int do_hold(void)
{
	return cu.hold(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
}

// What a caller keeps in registers over the call must be as it was.
static void *held(void *result)
{
	volatile long seed = (long)(size_t)pthread_self();
	long a = seed * 3, b = seed * 5, c = seed * 7, d = seed * 11, e = seed * 13, f = seed * 17;
	int code = do_hold();
	*(int *)result = a == seed * 3 && b == seed * 5 && c == seed * 7 && d == seed * 11 && e == seed * 13 && f == seed * 17 ? code : WRONG;
	return NULL;
}

static void *held_in_callback(void *result)
{
	*(int *)result = cu.call_back(do_hold);
	return NULL;
}

static atomic_bool shut;

// Not in the driver: its sleep is its own.
static void *asleep(void *result)
{
	struct timespec pause = {.tv_nsec = 300 * 1000 * 1000};
	int interrupted = 0;
	while (!atomic_load(&shut))
		interrupted |= nanosleep(&pause, NULL) != 0;
	*(int *)result = interrupted;
	return NULL;
}

// Has left the driver by a longjmp, so that its last call never ended.
static void *jumped(void *result)
{
	jmp_buf where;
	*(int *)result = WRONG;
	if (setjmp(where) == 0)
		cu.jump(&where);
	while (!atomic_load(&shut))
		usleep(1000);
	*(int *)result = cu.hold(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	return NULL;
}

static void show(const char *what, const int *results, int n)
{
	printf("%s", what);
	for (int i = 0; i < n; i++)
		printf(" %d", results[i]);
	printf("\n");
}

int main(void)
{
	pthread_t threads[N_HELD + 3];
	int results[N_HELD + 3];
	memset(results, 0, sizeof results);
	if (find("cuHold", &cu.hold, sizeof cu.hold) || find("cuCallBack", &cu.call_back, sizeof cu.call_back) || find("cuJump", &cu.jump, sizeof cu.jump) ||
	    find("cuGetErrorString", &cu.text, sizeof cu.text))
		return 2;
	for (int i = 0; i < N_HELD; i++)
		pthread_create(&threads[i], NULL, held, &results[i]);
	pthread_create(&threads[N_HELD], NULL, held_in_callback, &results[N_HELD]);
	pthread_create(&threads[N_HELD + 1], NULL, asleep, &results[N_HELD + 1]);
	pthread_create(&threads[N_HELD + 2], NULL, jumped, &results[N_HELD + 2]);
	while (atomic_load(&n_inside) < N_HELD + 1)
		usleep(1000);
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; i <= N_HELD; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&shut, 1);
	for (int i = N_HELD + 1; i < N_HELD + 3; i++)
		pthread_join(threads[i], NULL);
	show("held", results, N_HELD);
	show("in a callback", results + N_HELD, 1);
	show("sleep interrupted", results + N_HELD + 1, 1);
	show("after a longjmp", results + N_HELD + 2, 1);
	printf("later %d, text %d\n", do_hold(), cu.text());
	return 3;
}
