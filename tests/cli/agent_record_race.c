// Sixteen threads that record launches, with the recorder's own sources built for ThreadSanitizer: it says what is not synchronized, and
// what was written is counted. The rest of the agent is stood in for.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_priv.h"
#include "agent/record.h"

enum { THREADS = 16, ROUNDS = 3000, KERNELS = 700 };

static int name_of(const char **ret, void *function)
{
	static const char *const names[] = {"even", "odd"};
	*ret = names[(uintptr_t)function & 1];
	return 0;
}

void *ct_agent_lookup(const char *name)
{
	int (*function)(const char **, void *) = name_of;
	void *found = NULL;
	if (strcmp(name, "cuFuncGetName") == 0)
		memcpy(&found, &function, sizeof found);
	return found;
}

void *ct_agent_lookup_in(void *library, const char *name)
{
	(void)library;
	return ct_agent_lookup(name);
}

void *ct_agent_gate(const char *name, void *real)
{
	(void)name;
	return real;
}

bool ct_agent_gate_is_open(void)
{
	return true;
}

static void *work(void *argument)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct ct_launch_call call = {.handle = 1 + i % KERNELS, .stream = (uintptr_t)argument, .flags = i % 8 ? 0 : CT_RECORD_CAPTURED};
		ct_record_end(ct_record_launch(&call), &call, "cuLaunchKernel", i % 1000 ? 0 : 1);
		if (i % 1024 == 512)
			ct_record_forget_functions();
	}
	return NULL;
}

// All launches have a number in some ring. Prints the case's line.
static bool check(const char *path)
{
	struct ct_record_head head;
	struct ct_record_ring rings[CT_RECORD_RINGS + 1];
	FILE *f = fopen(path, "rb");
	bool ok = f && fread(&head, sizeof head, 1, f) == 1 && fseek(f, (long)head.rings_at, SEEK_SET) == 0 && fread(rings, sizeof rings, 1, f) == 1;
	uint64_t n = ok ? head.no_ring : 0;
	for (unsigned i = 0; ok && i <= CT_RECORD_RINGS; i++)
		n += rings[i].begun;
	if (f)
		fclose(f);
	ok = ok && n == THREADS * ROUNDS + 1;
	printf("1..1\n%s 1 - every launch of %d threads is numbered, and ThreadSanitizer is content\n", ok ? "ok" : "not ok", THREADS);
	return ok;
}

int main(void)
{
	pthread_t threads[THREADS];
	char dir[] = "/tmp/ct-race-XXXXXX", path[64];
	if (!mkdtemp(dir) || setenv("CUDATRAP_RECORD_DIR", dir, 1) != 0 || setenv("CUDATRAP_RECORD", "4096", 1) != 0)
		return 99;
	ct_record_begin();
	if (!ct_record_is_on())
		return 99;
	const struct ct_launch_call first = {.handle = 1};  // opens the file: while that is done other threads' launches go unrecorded
	ct_record_end(ct_record_launch(&first), &first, "cuLaunchKernel", 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			return 99;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	snprintf(path, sizeof path, "%s/launches.%d", dir, (int)getpid());
	bool ok = check(path);
	unlink(path);
	rmdir(dir);
	return ok ? 0 : 1;
}
