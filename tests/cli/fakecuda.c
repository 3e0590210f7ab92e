// A stand-in for the CUDA driver; see fakecuda.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "fakecuda.h"

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
	char host[256] = "", line[512];
	struct sigaction action = {.sa_handler = on_detach};
	gethostname(host, sizeof host - 1);
	sigaction(SIGUSR2, &action, NULL);
	snprintf(line, sizeof line,
		 "%s: The application encountered a device error and CUDA_DEVICE_WAITS_ON_EXCEPTION is set. "
		 "You can now attach a debugger to the application (PID %d) for inspection.\n",
		 host, (int)getpid());
	put(line);
	while (!detached)
		usleep(10000);
}

int fake_launch(long n_lines)
{
	const char *waits = getenv("CUDA_DEVICE_WAITS_ON_EXCEPTION");
	if (n_lines <= 0)
		return 0;
	if (waits && strcmp(waits, "1") == 0)
		wait_for_debugger();
	for (long i = 0; i < n_lines; i++) {
		char line[256];
		snprintf(line, sizeof line, "fakeapp.cu:42: check_index: block: [%ld,0,0], thread: [%ld,0,0] Assertion `t >= 0 && t < n_classes` failed.\n",
			 i / 32, i % 32);
		put(line);
	}
	return FAKE_ERROR_ASSERT;
}
