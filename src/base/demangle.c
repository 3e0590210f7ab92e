// C++ names; see demangle.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/demangle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/io.h"

// libstdc++'s and libc++abi's (Itanium C++ ABI, section 3.4); declared here because <cxxabi.h> is C++ only.
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

enum {
	// Each reference to an earlier part can double the text at most: up to this many it stays below some megabytes.
	HARMLESS_REFERENCES = 10,
	HARMLESS_LENGTH = 1024,
	CHILD_MS = 400,
	FORK_US = 500,  // what a child costs us even when it has nothing to do, rounded up (0.1 to 0.4 ms, a process of 200 MB)
};
// The text that a child may build; realloc() holds the old and the new one for a moment.
#define CHILD_BYTES ((rlim_t)256 << 20)

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define HAS_SHADOW 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__
#define HAS_SHADOW 1
#endif

static void append_plain(const char *mangled, struct ct_str *ret_plain)
{
	int status = 0;
	CT_AUTO(ct_auto_free) char *plain = __cxa_demangle(mangled, NULL, NULL, &status);
	if (plain && status == 0)
		ct_str_append(ret_plain, plain, strnlen(plain, CT_PLAIN_MAX));
}

// "S_", "S1_" and "T_", "T1_" are the references, "Dp" and "sp" repeat what follows for each member of a pack. Letters of a plain
// identifier are taken for them, which does no harm.
static bool is_harmless(const char *mangled, size_t length)
{
	unsigned n = strstr(mangled, "Dp") || strstr(mangled, "sp") ? HARMLESS_REFERENCES : 0;
	for (const char *p = mangled; *p; p++)
		n += (*p == 'S' || *p == 'T') && (p[1] == '_' || (p[1] >= '0' && p[1] <= '9') || (p[1] >= 'A' && p[1] <= 'Z'));
	return n <= HARMLESS_REFERENCES && length <= HARMLESS_LENGTH;
}

static _Noreturn void demangle_in_child(const char *mangled, int output)
{
	struct ct_str plain = CT_STR_INIT;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#ifndef HAS_SHADOW
	setrlimit(RLIMIT_DATA, &(struct rlimit){CHILD_BYTES, CHILD_BYTES});
#endif
	append_plain(mangled, &plain);
	_exit(plain.length && ct_write_all(output, plain.data, plain.length, NULL) ? 0 : 1);
}

// All that the child writes before it ends or its time is over.
static bool read_child(int input, struct ct_str *ret_text)
{
	int64_t deadline_us = ct_now_us() + (int64_t)CHILD_MS * 1000;
	char buffer[4096];
	for (;;) {
		struct pollfd pfd = {.fd = input, .events = POLLIN};
		int ready = poll(&pfd, 1, ct_ms_until(deadline_us));
		ssize_t n = ready > 0 ? read(input, buffer, sizeof buffer) : -1;
		if (n == 0)
			return true;
		if (ready == 0 || (n < 0 && errno != EINTR))
			return false;
		if (n > 0)
			ct_str_append(ret_text, buffer, (size_t)n);
	}
}

static int64_t used_us(const struct rusage *usage)
{
	return (int64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 + usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

static bool demangle_apart(const char *mangled, struct ct_demangle_budget *budget, struct ct_str *ret_plain)
{
	int ends[2], status = 1;
	struct rusage usage = {0};
	if (budget->left_us <= 0 || pipe2(ends, O_CLOEXEC) != 0)
		return false;
	CT_AUTO(ct_auto_close) int read_end = ends[0];
	CT_AUTO(ct_auto_close) int write_end = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return false;
	if (pid == 0)
		demangle_in_child(mangled, write_end);
	close(write_end);
	write_end = -1;
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	bool whole = read_child(read_end, &text);
	if (!whole)
		kill(pid, SIGKILL);
	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	budget->left_us -= FORK_US + used_us(&usage);
	if (!whole || status != 0)
		return false;
	ct_str_append(ret_plain, ct_str_text(&text), text.length);
	return true;
}

bool ct_demangle_bounded(const char *mangled, struct ct_demangle_budget *budget, struct ct_str *ret_plain)
{
	struct ct_demangle_budget own = CT_DEMANGLE_BUDGET_INIT;
	// Without the prefix the demangler takes names for types: "i" would become "int".
	size_t length = strnlen(mangled, CT_MANGLED_MAX), before = ret_plain->length;
	if (mangled[0] != '_' || mangled[1] != 'Z' || length >= CT_MANGLED_MAX)
		return false;
	if (!is_harmless(mangled, length))
		return demangle_apart(mangled, budget ? budget : &own, ret_plain);
	append_plain(mangled, ret_plain);
	return ret_plain->length > before;
}
