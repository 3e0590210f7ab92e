// The driver says that it waits for a debugger by fprintf(stderr, ...) (driver 580.159, seen), and a program may have sent its stderr
// anywhere: to a file, to a notebook, to a launcher's log. So the agent hears it where it is said and tells the supervisor.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/agent_priv.h"

#undef fprintf

// Who connects is all there is to say: the supervisor takes the process id from the kernel (SO_PEERCRED).
static void tell_supervisor(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/waiting", ct_agent_dir());
	if (!ct_agent_dir()[0] || n < 0 || (size_t)n >= sizeof address.sun_path)
		return;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	int ignored = connect(fd, (struct sockaddr *)&address, sizeof address);
	(void)ignored;  // no engine wants to know: then nobody listens
	close(fd);
}

// The same as libc's, for whatever else the program prints: its whole work is done there.
__attribute__((visibility("default"), format(printf, 2, 3))) int fprintf(FILE *stream, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = vfprintf(stream, format, ap);
	va_end(ap);
	if (strstr(format, "CUDA_DEVICE_WAITS_ON_EXCEPTION is set")) {
		int saved = errno;
		tell_supervisor();
		errno = saved;
	}
	return n;
}
