// The right to attach, found by using it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hoststack/hoststack.h"

bool ct_hoststack_can_trace(struct ct_error *err)
{
	pid_t child = fork();
	if (child < 0)
		return ct_fail_errno(err, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	// Not PTRACE_TRACEME: seccomp filters and capabilities are about attaching.
	bool ok = ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0;
	if (!ok)
		ct_fail_errno(err, "ptrace");
	kill(child, SIGKILL);
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	return ok || ct_hint(err, "docker run --cap-add=SYS_PTRACE; sysctl kernel.yama.ptrace_scope=1");
}
