// A driver library for tests of the agent: its name is what counts, and one call that blocks.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <unistd.h>

int cuInit(unsigned flags);
int agent_wait(int fd);

int cuInit(unsigned flags)
{
	return (int)flags;
}

// Until somebody writes to fd or closes its other end.
int agent_wait(int fd)
{
	char c;
	return (int)read(fd, &c, 1);
}
