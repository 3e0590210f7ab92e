// A stand-in for the CUDA driver; see fakecuda.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "fakecuda.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The driver writes to descriptor 2, whatever stdio thinks of stderr.
static void put(const char *text)
{
	size_t length = strlen(text);
	while (length) {
		ssize_t n = write(2, text, length);
		if (n <= 0)
			return;
		text += n;
		length -= (size_t)n;
	}
}

static volatile sig_atomic_t detached;

static void on_detach(int number)
{
	(void)number;
	detached = 1;
}

static void wait_for_debugger(void)
{
	detached = 0;
	char host[256] = "";
	struct sigaction action = {.sa_handler = on_detach};
	gethostname(host, sizeof host - 1);
	sigaction(SIGUSR2, &action, NULL);
	fprintf(stderr,
		"%s: The application encountered a device error and CUDA_DEVICE_WAITS_ON_EXCEPTION is set. "
		"You can now attach a debugger to the application (PID %d) for inspection.\n",
		host, (int)getpid());
	fflush(stderr);
	while (!detached)
		usleep(10000);
}

static void copy(int in, int out)
{
	char bytes[65536];
	ssize_t n;
	while ((n = read(in, bytes, sizeof bytes)) > 0)
		for (ssize_t done = 0; done < n;) {
			ssize_t k = write(out, bytes + done, (size_t)(n - done));
			if (k <= 0)
				_exit(5);
			done += k;
		}
}

// As the driver does it: into what is there, a FIFO too; %p is the process; then abort().
static void dump(const char *from)
{
	const char *template = getenv("CUDA_COREDUMP_FILE");
	char path[4096];
	const char *percent = template ? strstr(template, "%p") : NULL;
	if (!percent || !from)
		_exit(6);
	put("Starting GPU coredump generation, set the CUDA_COREDUMP_SHOW_PROGRESS environment variable to 1 to enable more detailed output\n");
	snprintf(path, sizeof path, "%.*s%d%s", (int)(percent - template), template, (int)getpid(), percent + 2);
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (in < 0 || out < 0)
		_exit(7);
	copy(in, out);
	close(out);
	close(in);
}

int fake_launch(long n_lines)
{
	const char *dumps = getenv("CUDA_ENABLE_COREDUMP_ON_EXCEPTION");
	const char *waits = getenv("CUDA_DEVICE_WAITS_ON_EXCEPTION");
	if (n_lines <= 0)
		return 0;
	if (waits && strcmp(waits, "1") == 0)
		wait_for_debugger();
	if (dumps && strcmp(dumps, "1") == 0)
		dump(getenv("FAKE_DUMP"));
	// As driver 580.159 does it, now and then: the fault is swallowed.
	if (dumps && strcmp(dumps, "1") == 0 && strstr(getenv("CUDA_COREDUMP_GENERATION_FLAGS"), "skip_abort"))
		return 0;
	for (long i = 0; i < n_lines; i++) {
		char line[256];
		snprintf(line, sizeof line, "fakeapp.cu:42: check_index: block: [%ld,0,0], thread: [%ld,0,0] Assertion `t >= 0 && t < n_classes` failed.\n",
			 i / 32, i % 32);
		put(line);
	}
	if (dumps && strcmp(dumps, "1") == 0)
		abort();
	return FAKE_ERROR_ASSERT;
}

// ---- The way that libcudart takes to the driver ------------------------------------------------------------------------------

// function is the number of assert lines. The others are checked: what stands between must hand all of them on, those on the stack too.
static int launch_kernel(long function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
			 void **params, void **extra)
{
	if (gx != 1 || gy != 2 || gz != 3 || bx != 4 || by != 5 || bz != 6 || shared != 7 || stream != (void *)8 || params != (void *)9 || extra != (void *)10)
		return 1;
	return fake_launch(function);
}

static int synchronize(void)
{
	return 0;
}

int cuGetProcAddress_v2(const char *name, void **ret_function, int version, unsigned long flags, int *ret_status)
{
	int (*launch)(long, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) = launch_kernel;
	int (*sync)(void) = synchronize;
	(void)version;
	(void)flags;
	if (ret_status)
		*ret_status = 0;
	if (strcmp(name, "cuLaunchKernel") == 0)
		memcpy(ret_function, &launch, sizeof launch);
	else if (strcmp(name, "cuCtxSynchronize") == 0)
		memcpy(ret_function, &sync, sizeof sync);
	else
		return 500;  // CUDA_ERROR_NOT_FOUND
	return 0;
}
