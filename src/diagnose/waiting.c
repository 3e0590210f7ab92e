// The driver's line that it waits for a debugger, found byte by byte.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "diagnose/diagnose_priv.h"

// Without blanks: terminals and launchers break the line anywhere, so blanks and line breaks are skipped on both sides.
// 'Y' stands only at the start: after a mismatch no other start can lie inside what was matched.
static const char needle[] = "Youcannowattachadebuggertotheapplication(PID";

enum {
	NEEDLE_LENGTH = sizeof needle - 1,
	PID_LIMIT = 4 * 1024 * 1024,  // PID_MAX_LIMIT of linux/threads.h; the largest PID is one less
};

enum escape { OUTSIDE, INTRODUCED, CONTROL_SEQUENCE, COMMAND_STRING };

// True when c belongs to an escape sequence.
static bool in_escape(unsigned *escape, char c)
{
	switch (*escape) {
	case INTRODUCED:
		*escape = c == '[' ? CONTROL_SEQUENCE : c == ']' ? COMMAND_STRING : OUTSIDE;
		return true;
	case CONTROL_SEQUENCE:
		if (c >= 0x40 && c <= 0x7e)
			*escape = OUTSIDE;
		return true;
	case COMMAND_STRING:
		if (c == '\a' || c == '\n')
			*escape = OUTSIDE;
		else if (c == '\x1b')
			*escape = INTRODUCED;
		return true;
	default:
		if (c == '\x1b')
			*escape = INTRODUCED;
		return c == '\x1b';
	}
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void restart(struct ct_waiting *w, char c)
{
	*w = (struct ct_waiting){.matched = c == needle[0]};
}

// True when c completes a PID that can be one.
static bool take(struct ct_waiting *w, char c)
{
	if (in_escape(&w->escape, c) || is_blank(c))
		return false;
	if (w->matched < NEEDLE_LENGTH) {
		if (c == needle[w->matched])
			w->matched++;
		else
			restart(w, c);
		return false;
	}
	if (c >= '0' && c <= '9') {
		w->has_digits = true;
		if (w->pid < PID_LIMIT)
			w->pid = w->pid * 10 + (c - '0');
		return false;
	}
	if (c == ')' && w->has_digits && w->pid > 0 && w->pid < PID_LIMIT) {
		w->matched = 0;
		return true;
	}
	restart(w, c);
	return false;
}

size_t ct_waiting_feed(struct ct_waiting *waiting, const char *bytes, size_t length, int64_t *ret_pid)
{
	*ret_pid = 0;
	for (size_t i = 0; i < length; i++) {
		if (waiting->matched == 0) {
			const char *start = memchr(bytes + i, needle[0], length - i);
			if (!start)
				return length;
			i = (size_t)(start - bytes);
			restart(waiting, *start);
		} else if (take(waiting, bytes[i])) {
			*ret_pid = waiting->pid;
			*waiting = (struct ct_waiting){.matched = 0};
			return i + 1;
		}
	}
	return length;
}
