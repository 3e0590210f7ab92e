// A conversation with a cuda-gdb over its machine interface.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"

// A table of 270,336 threads that all stand elsewhere; more than that is no answer that we can use.
#define LINE_LIMIT ((size_t)64 << 20)

static bool closed(struct ct_error *err)
{
	return ct_fail(err, CT_SYSTEM, "cuda-gdb ended in the middle of the conversation");
}

// The next line, without its newline; borrowed until the next call.
static bool read_line(struct ct_mi_session *session, size_t *ret_length, struct ct_error *err)
{
	size_t searched = 0;
	for (;;) {
		char *newline = session->buffer.length > searched ? memchr(session->buffer.data + searched, '\n', session->buffer.length - searched) : NULL;
		if (newline) {
			*ret_length = (size_t)(newline - session->buffer.data);
			return true;
		}
		searched = session->buffer.length;
		if (searched > LINE_LIMIT)
			return ct_fail(err, CT_LIMIT, "cuda-gdb's answer is longer than %zu bytes", LINE_LIMIT);
		struct pollfd pfd = {.fd = session->output, .events = POLLIN};
		int ready = poll(&pfd, 1, ct_ms_until(session->deadline_us));
		if (ready == 0)
			return ct_fail(err, CT_TIMEOUT, "cuda-gdb did not answer in time");
		char bytes[16384];
		ssize_t n = ready < 0 ? -1 : read(session->output, bytes, sizeof bytes);
		if (n == 0)
			return closed(err);
		if (n < 0 && errno != EINTR)
			return ct_fail_errno(err, "reading from cuda-gdb");
		if (n > 0)
			ct_str_append(&session->buffer, bytes, (size_t)n);
	}
}

static void keep_log(struct ct_mi_session *session, const char *line, size_t length)
{
	if (session->log.length + length < CT_CUDAGDB_LOG_LIMIT) {
		ct_str_append(&session->log, line, length);
		ct_str_addc(&session->log, '\n');
	}
}

// A write to a cuda-gdb that has died must be an error, not our death by SIGPIPE.
static bool send_line(int fd, const struct ct_str *line, struct ct_error *err)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
	sigaction(SIGPIPE, &ignore, &old);
	bool ok = ct_write_all(fd, line->data, line->length, NULL);
	sigaction(SIGPIPE, &old, NULL);
	return ok || closed(err);
}

bool ct_mi_ask(struct ct_mi_session *session, const char *command, struct ct_mi_record *ret_record, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str line = CT_STR_INIT;
	uint32_t token = ++session->last_token;
	ct_str_addf(&line, "%u%s\n", token, command);
	if (!send_line(session->input, &line, err))
		return false;
	for (;;) {
		size_t length;
		if (!read_line(session, &length, err))
			return ct_fail_in(err, "%s", command);
		keep_log(session, session->buffer.data, length);
		bool ok = ct_mi_parse(session->arena, session->buffer.data, length, ret_record, err);
		ct_str_consume(&session->buffer, length + 1);
		if (!ok)
			return ct_fail_in(err, "%s", command);
		if (ret_record->type != CT_MI_RESULT || !ret_record->has_token || ret_record->token != token)
			continue;
		if (strcmp(ret_record->class_name, "done") == 0 || strcmp(ret_record->class_name, "connected") == 0)
			return true;
		const char *message = ct_mi_text(ret_record->first, "msg");
		return ct_fail(err, CT_UNAVAILABLE, "%s: %s", command, message ? message : ret_record->class_name);
	}
}
