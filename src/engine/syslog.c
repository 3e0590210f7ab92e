// --syslog: a line of a report in the system's log; see engine_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine_priv.h"
#include "render/render.h"
#include "report/report.h"

// Of this message and no other, so that journalctl MESSAGE_ID=... finds all of them.
#define MESSAGE_ID "039c2603295143f7a913d13a2fef9d23"
#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define SYSLOG_SOCKET "/dev/log"

// Never waits: a log that nobody empties would hold the command's end. errno says why not.
static bool send_to(const char *path, int type, const struct ct_str *message)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return false;
	}
	strcpy(address.sun_path, path);
	CT_AUTO(ct_auto_close) int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		return false;
	// Of a stream the NUL parts the messages.
	size_t length = message->length + (type == SOCK_STREAM);
	return send(fd, message->data, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static bool fail_to_send(struct ct_error *err, const char *path)
{
	if (errno == EAGAIN)
		return ct_fail(err, CT_TIMEOUT, "%s: nobody takes messages there", path);
	return ct_fail_errno(err, "%s", path);
}

static void add_field(struct ct_str *s, struct ct_arena *arena, const char *name, const char *value)
{
	// A newline would end the field (systemd, "Native Journal Protocol").
	if (value && *value)
		ct_str_addf(s, "%s=%s\n", name, ct_arena_line(arena, value, strlen(value)));
}

bool ct_run_log_journal(struct ct_incident *incident, const char *path, const char *socket_path, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	struct ct_arena *arena = &incident->arena;
	struct ct_summary summary;
	ct_summary_of(incident, arena, &summary);
	add_field(&s, arena, "MESSAGE", ct_run_log_line(incident, path));
	ct_str_add(&s, "MESSAGE_ID=" MESSAGE_ID "\nPRIORITY=3\nSYSLOG_IDENTIFIER=cudatrap\n");
	add_field(&s, arena, "CUDATRAP_REPORT", path);
	add_field(&s, arena, "CUDATRAP_SIGNATURE", summary.signature);
	add_field(&s, arena, "CUDATRAP_KIND", ct_fault_kind_word(incident->kind));
	add_field(&s, arena, "CUDATRAP_KERNEL", summary.kernel);
	add_field(&s, arena, "CUDATRAP_COMMAND", summary.command);
	return send_to(socket_path, SOCK_DGRAM, &s) || fail_to_send(err, socket_path);
}

const char *ct_run_log_line(struct ct_incident *incident, const char *path)
{
	struct ct_summary summary;
	ct_summary_of(incident, &incident->arena, &summary);
	return ct_arena_printf(&incident->arena, "%s%s%s%s%s; signature %s; report %s", ct_fault_kind_headline(incident->kind), summary.kernel ? " in " : "",
			       summary.kernel ? summary.kernel : "", summary.detail ? ": " : "", summary.detail ? summary.detail : "", summary.signature,
			       path ? path : "not written");
}

bool ct_run_log_syslog(struct ct_incident *incident, const char *path, const char *socket_path, struct ct_error *err)
{
	static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	time_t now = ct_wall_us() / 1000000;
	struct tm t = {.tm_mon = 0};
	localtime_r(&now, &t);
	// The form of RFC 3164; syslog(3) writes the same, and waits.
	ct_str_addf(&s, "<%d>%s %2d %02d:%02d:%02d cudatrap[%d]: [" MESSAGE_ID "] ", LOG_USER | LOG_ERR, months[t.tm_mon], t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
		    (int)getpid());
	const char *line = ct_run_log_line(incident, path);
	ct_str_add(&s, ct_arena_line(&incident->arena, line, strlen(line)));
	if (send_to(socket_path, SOCK_DGRAM, &s) || (errno == EPROTOTYPE && send_to(socket_path, SOCK_STREAM, &s)))
		return true;
	return fail_to_send(err, socket_path);
}

bool ct_run_log(struct ct_incident *incident, const char *path, struct ct_error *err)
{
	if (ct_run_log_journal(incident, path, JOURNAL_SOCKET, err))
		return true;
	if (access(SYSLOG_SOCKET, F_OK) == 0)
		return ct_run_log_syslog(incident, path, SYSLOG_SOCKET, err);
	// Of one that is there the failure is told as it is.
	return err->code == CT_NOT_FOUND && ct_fail(err, CT_UNAVAILABLE, "there is neither " JOURNAL_SOCKET " nor " SYSLOG_SOCKET);
}
