// cudatrap doctor: what works on this machine, found by trying it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "cudagdb/cudagdb.h"
#include "hoststack/hoststack.h"

extern char **environ;

static void say(bool ok, const char *what, const char *detail)
{
	printf("%-4s %-10s %s\n", ok ? "ok" : "no", what, detail);
}

static bool check_driver(void)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	bool ok = ct_read_file("/proc/driver/nvidia/version", 4096, &text, &err) && text.length > 0;
	if (ok)
		text.data[strcspn(text.data, "\n")] = '\0';
	say(ok, "driver", ok ? text.data : "no NVIDIA driver is loaded: nothing can fault here, stored reports can be read");
	return ok;
}

static bool check_gdb(struct ct_arena *arena, const struct ct_options *options)
{
	struct ct_cudagdb gdb;
	struct ct_cudagdb_search search = {.lines = NULL, .n_lines = 0};
	struct ct_error err = CT_ERROR_INIT;
	bool ok = ct_cudagdb_find(arena, options->cuda_gdb, environ, NULL, &gdb, &search, &err);
	if (!ok)
		say(false, "cuda-gdb", err.text);
	else
		say(true, "cuda-gdb",
		    ct_arena_printf(arena, "%s %s, %s%s (by %s)", gdb.path, gdb.version, gdb.python ? "Python " : "no Python", gdb.python ? gdb.python : "", gdb.found_by));
	for (size_t i = 0; i < search.n_lines; i++)
		printf("     %-10s %s\n", "", search.lines[i]);
	if (!ok && err.hint[0])
		printf("     %-10s %s\n", "", err.hint);
	return ok;
}

static bool check_ptrace(struct ct_arena *arena)
{
	struct ct_error err = CT_ERROR_INIT;
	bool ok = ct_hoststack_can_trace(&err);
	say(ok, "ptrace", ok ? "attaching to a process works" : ct_arena_printf(arena, "%s: engine core is used; to allow it: %s", err.text, err.hint));
	return ok;
}

static bool check_agent(void)
{
	const char *given = getenv("CUDATRAP_AGENT");
	const char *path = given && *given ? given : CT_PKGLIBDIR "/libcudatrap-agent.so";
	bool ok = access(path, R_OK) == 0;
	char detail[4200];
	snprintf(detail, sizeof detail, "%s%s%s", path, ok ? "" : ": ", ok ? "" : strerror(errno));
	say(ok, "agent", detail);
	return ok;
}

int ct_command_doctor(const struct ct_options *options)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	if (options->argc > 0) {
		fprintf(stderr, "cudatrap: doctor: takes no operand ('%s')\n", options->argv[0]);
		return 125;
	}
	bool driver = check_driver();
	bool gdb = check_gdb(&arena, options);
	bool ptrace_ok = check_ptrace(&arena);
	bool agent = check_agent();
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fputs("cudatrap: doctor: standard output could not be written\n", stderr);
		return 125;
	}
	return driver && gdb && ptrace_ok && agent ? 0 : 1;
}
