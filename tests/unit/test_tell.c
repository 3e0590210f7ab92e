// engine/syslog.c: what goes to the system's log.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/engine_priv.h"
#include "unit.h"

struct journal {
	char dir[64], path[96];
	int fd;
};

static struct journal new_journal(void)
{
	struct journal j = {.dir = "/tmp/ct-journal-XXXXXX", .path = "", .fd = -1};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(j.dir));
	snprintf(j.path, sizeof j.path, "%s/socket", j.dir);
	strcpy(address.sun_path, j.path);
	j.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CU_ASSERT_EQUAL_FATAL(bind(j.fd, (struct sockaddr *)&address, sizeof address), 0);
	return j;
}

static void end_journal(struct journal *j)
{
	close(j->fd);
	unlink(j->path);
	rmdir(j->dir);
}

static struct ct_incident *new_incident(const char *expression)
{
	struct ct_incident *in = ct_incident_new();
	const char **words = ct_arena_array(&in->arena, 2, sizeof *words);
	words[0] = "python";
	words[1] = "train.py";
	in->command = words;
	in->n_command = 2;
	in->kind = CT_FAULT_ASSERT;
	in->gpu.present = in->gpu.has_kernel = true;
	in->gpu.kernel.name = "void k<float>(float*)";
	in->assertion = (struct ct_assert){.present = true, .file = "k.cu", .line = 7, .expression = expression};
	return in;
}

static void test_a_datagram_has_the_fields(void)
{
	struct journal j = new_journal();
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("t >= 0");
	char text[4096] = "";
	CU_ASSERT_TRUE(ct_run_log_journal(in, "/reports/a", j.path, &err));
	CU_ASSERT_TRUE(recv(j.fd, text, sizeof text - 1, 0) > 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "MESSAGE=device-side assert in k: t >= 0; signature "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nMESSAGE_ID="));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nPRIORITY=3\nSYSLOG_IDENTIFIER=cudatrap\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nCUDATRAP_REPORT=/reports/a\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nCUDATRAP_COMMAND=python train.py\n"));
	end_journal(&j);
}

static void test_foreign_text_makes_no_field(void)
{
	struct journal j = new_journal();
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("a\nFORGED=1\n\x1b[31m\xff");
	char text[4096] = "";
	CU_ASSERT_TRUE(ct_run_log_journal(in, "/reports/b\nFORGED=2", j.path, &err));
	CU_ASSERT_TRUE(recv(j.fd, text, sizeof text - 1, 0) > 0);
	CU_ASSERT_PTR_NULL(strstr(text, "\nFORGED"));
	CU_ASSERT_PTR_NULL(strchr(text, '\x1b'));
	end_journal(&j);
}

static void test_without_a_journal_it_says_so(void)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("t");
	CU_ASSERT_FALSE(ct_run_log_journal(in, "/reports/a", "/no/such/socket", &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	char longest[200];
	memset(longest, 'a', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	CU_ASSERT_FALSE(ct_run_log_journal(in, "/reports/a", longest, &err));
	CU_ASSERT_EQUAL(err.code, CT_SYSTEM);
}

// Nobody empties the socket: that must hold neither message, however many came before.
static void test_a_full_log_is_not_waited_for(void)
{
	struct journal j = new_journal();
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("t");
	for (unsigned i = 0; i < 100000 && ct_run_log_journal(in, "/reports/a", j.path, &err); i++)
		;
	CU_ASSERT_EQUAL(err.code, CT_TIMEOUT);
	err = (struct ct_error)CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_run_log_syslog(in, "/reports/a", j.path, &err));
	CU_ASSERT_EQUAL(err.code, CT_TIMEOUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "nobody takes messages there"));
	end_journal(&j);
}

static void test_syslog_has_the_line(void)
{
	struct journal j = new_journal();
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("a\nb\x1b");
	char text[4096] = "", month[4] = "";
	int day, hour, minute, second, pid, end = 0;
	CU_ASSERT_TRUE(ct_run_log_syslog(in, "/reports/a", j.path, &err));
	ssize_t length = recv(j.fd, text, sizeof text - 1, 0);
	CU_ASSERT_TRUE_FATAL(length > 0);
	// user.err is 1 * 8 + 3.
	CU_ASSERT_EQUAL(sscanf(text, "<11>%3s %2d %2d:%2d:%2d cudatrap[%d]: [%n", month, &day, &hour, &minute, &second, &pid, &end), 6);
	CU_ASSERT_EQUAL(pid, getpid());
	CU_ASSERT_PTR_NOT_NULL(strstr(text + end, "] device-side assert in k: a b"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "; report /reports/a"));
	CU_ASSERT_PTR_NULL(strpbrk(text, "\n\x1b"));
	CU_ASSERT_EQUAL(text[length - 1], 'a');
	end_journal(&j);
}

static void test_syslog_of_streams(void)
{
	struct journal j = new_journal();
	struct ct_error err = CT_ERROR_INIT;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("t");
	char text[4096] = "";
	close(j.fd);
	unlink(j.path);
	strcpy(address.sun_path, j.path);
	j.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CU_ASSERT_EQUAL_FATAL(bind(j.fd, (struct sockaddr *)&address, sizeof address), 0);
	CU_ASSERT_EQUAL_FATAL(listen(j.fd, 1), 0);
	CU_ASSERT_TRUE(ct_run_log_syslog(in, "/reports/a", j.path, &err));
	CT_AUTO(ct_auto_close) int fd = accept(j.fd, NULL, NULL);
	ssize_t length = recv(fd, text, sizeof text - 1, 0);
	CU_ASSERT_TRUE_FATAL(length > 0);
	CU_ASSERT_EQUAL(text[length - 1], '\0');
	CU_ASSERT_EQUAL(strlen(text), (size_t)length - 1);
	end_journal(&j);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"a datagram has the fields", test_a_datagram_has_the_fields},
		{"foreign text makes no field", test_foreign_text_makes_no_field},
		{"without a journal it says so", test_without_a_journal_it_says_so},
		{"a full log is not waited for", test_a_full_log_is_not_waited_for},
		{"syslog has the line", test_syslog_has_the_line},
		{"syslog of streams", test_syslog_of_streams},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("tell", tests);
}
