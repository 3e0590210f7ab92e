// The commands that need a running process: known by name here too, so that who types one is told where it works.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/shell_priv.h"

bool ct_shell_run_live(struct ct_shell_call *call, struct ct_error *err)
{
	(void)call;
	ct_fail(err, CT_UNAVAILABLE, "this command needs a running program, and here is only what one left");
	return ct_hint(err, "run the program in cuda-gdb with cudatrap's commands: see cudatrap-gdb(7)");
}
