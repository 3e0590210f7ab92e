// agent/: asking an agent that is not there, is slow, silent, talks too much or goes away.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "agent/agent.h"
#include "unit.h"

#define PID 4711  // any: the fake agent is a thread of ours
#define LONG_MS 30000

static const char document[] = "{\"version\":1,\"pid\":4711,\"threads\":[]}\n";

// What the fake does with its one connection.
struct fake {
	char dir[512];
	int listening, dir_fd;
	size_t send_bytes;      // of the document, or of spaces past its end
	bool byte_by_byte, stay_silent, leave_unread;
	char request[64];
	pthread_t thread;
};

static int open_listener(int dir_fd, int backlog)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%d.sock", dir_fd, PID);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
	if (backlog >= 0)
		CU_ASSERT_EQUAL_FATAL(listen(fd, backlog), 0);
	return fd;
}

static void make_dir(struct fake *fake, bool deep)
{
	*fake = (struct fake){.listening = -1, .dir_fd = -1};
	char base[] = "/tmp/ct-agent-XXXXXX";
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(base));
	snprintf(fake->dir, sizeof fake->dir, "%s", base);
	if (deep) {
		memset(fake->dir + strlen(base), 'd', 200);
		fake->dir[strlen(base)] = '/';
		CU_ASSERT_EQUAL_FATAL(mkdir(fake->dir, 0700), 0);
	}
	fake->dir_fd = open(fake->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_TRUE_FATAL(fake->dir_fd >= 0);
}

static void remove_dir(struct fake *fake)
{
	char name[32];
	snprintf(name, sizeof name, "%d.sock", PID);
	unlinkat(fake->dir_fd, name, 0);
	close(fake->dir_fd);
	if (fake->listening >= 0)
		close(fake->listening);
	rmdir(fake->dir);
	char *slash = strrchr(fake->dir, '/');
	if (strlen(slash) > 100) {
		*slash = '\0';
		rmdir(fake->dir);
	}
}

static void send_answer(const struct fake *fake, int fd)
{
	static const char spaces[65536] = {0};
	size_t sent = 0;
	while (sent < fake->send_bytes) {
		size_t left = fake->send_bytes - sent, room = sent < sizeof document - 1 ? sizeof document - 1 - sent : sizeof spaces;
		size_t n = fake->byte_by_byte ? 1 : left < room ? left : room;
		ssize_t got = send(fd, sent < sizeof document - 1 ? document + sent : spaces, n, MSG_NOSIGNAL);
		if (got <= 0)
			return;
		sent += (size_t)got;
	}
}

static void *serve_one(void *argument)
{
	struct fake *fake = argument;
	CT_AUTO(ct_auto_close) int fd = accept(fake->listening, NULL, NULL);
	if (fake->leave_unread)
		return NULL;
	ssize_t n = recv(fd, fake->request, sizeof fake->request - 1, 0);
	fake->request[n > 0 ? n : 0] = '\0';
	if (fake->stay_silent) {
		char c;
		while (recv(fd, &c, 1, 0) > 0)  // until the client gives up
			;
		return NULL;
	}
	send_answer(fake, fd);
	return NULL;
}

static bool ask(struct fake *fake, int timeout_ms, struct ct_str *json, struct ct_error *err)
{
	fake->listening = open_listener(fake->dir_fd, 8);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&fake->thread, NULL, serve_one, fake), 0);
	bool ok = ct_agent_ask(fake->dir, PID, "stacks", ct_now_us() + (int64_t)timeout_ms * 1000, json, err);
	pthread_join(fake->thread, NULL);
	return ok;
}

// Asks a fake that is expected to disappoint.
static void expect_failure(struct fake *fake, int timeout_ms, enum ct_code code, const char *text)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	ct_str_add(&json, "kept");
	CU_ASSERT_FALSE(ask(fake, timeout_ms, &json, &err));
	CU_ASSERT_EQUAL(err.code, code);
	CU_ASSERT_STRING_EQUAL(err.text, text);
	CU_ASSERT_STRING_EQUAL(ct_str_text(&json), "kept");
	remove_dir(fake);
}

static void expect_answer(struct fake *fake)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	CU_ASSERT_TRUE(ask(fake, LONG_MS, &json, &err));
	CU_ASSERT_STRING_EQUAL(ct_str_text(&json), document);
	CU_ASSERT_STRING_EQUAL(fake->request, "stacks\n");
	remove_dir(fake);
}

static void test_whole_answer(void)
{
	struct fake fake;
	make_dir(&fake, false);
	fake.send_bytes = sizeof document - 1;
	expect_answer(&fake);
}

static void test_answer_in_pieces(void)
{
	struct fake fake;
	make_dir(&fake, false);
	fake.send_bytes = sizeof document - 1;
	fake.byte_by_byte = true;
	expect_answer(&fake);
}

static void test_folder_longer_than_an_address(void)
{
	struct fake fake;
	make_dir(&fake, true);
	fake.send_bytes = sizeof document - 1;
	expect_answer(&fake);
}

static void test_silence_ends_at_the_deadline(void)
{
	struct fake fake;
	make_dir(&fake, false);
	fake.stay_silent = true;
	expect_failure(&fake, 50, CT_TIMEOUT, "the agent in process 4711 did not answer in time");
}

static void test_too_long_an_answer(void)
{
	struct fake fake;
	make_dir(&fake, false);
	fake.send_bytes = ((size_t)16 << 20) + 1;
	expect_failure(&fake, LONG_MS, CT_LIMIT, "the agent in process 4711 answers with more than 16777216 bytes");
}

static void test_cut_answers(void)
{
	for (size_t n = 1; n < sizeof document - 1; n++) {
		struct fake fake;
		char text[128];
		make_dir(&fake, false);
		fake.send_bytes = n;
		snprintf(text, sizeof text, "the answer of the agent in process 4711 is not whole (%zu bytes)", n);
		expect_failure(&fake, LONG_MS, CT_FORMAT, text);
	}
}

static void test_no_answer_at_all(void)
{
	struct fake fake;
	make_dir(&fake, false);
	expect_failure(&fake, LONG_MS, CT_UNAVAILABLE, "the agent in process 4711 closed the connection without an answer");
}

static void test_closed_before_the_request_is_read(void)
{
	struct fake fake;
	make_dir(&fake, false);
	fake.leave_unread = true;  // the client gets EPIPE or ECONNRESET, whichever comes first
	expect_failure(&fake, LONG_MS, CT_UNAVAILABLE, "the agent in process 4711 closed the connection without an answer");
}

static void expect_no_agent(const char *dir)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	CU_ASSERT_FALSE(ct_agent_ask(dir, PID, "stacks", ct_now_us() + LONG_MS * INT64_C(1000), &json, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	CU_ASSERT_STRING_EQUAL(err.text, "no agent in process 4711");
	CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "libcudatrap-agent.so"));
	CU_ASSERT_PTR_NULL(json.data);
}

static void test_no_agent(void)
{
	struct fake fake;
	for (int deep = 0; deep < 2; deep++) {
		make_dir(&fake, deep);
		expect_no_agent(fake.dir);
		fake.listening = open_listener(fake.dir_fd, -1);  // a socket that nobody listens on: the process has ended
		expect_no_agent(fake.dir);
		remove_dir(&fake);
		expect_no_agent(fake.dir);
	}
}

static void test_full_queue_ends_at_the_deadline(void)
{
	struct fake fake;
	make_dir(&fake, false);
	fake.listening = open_listener(fake.dir_fd, 0);
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%d.sock", fake.dir_fd, PID);
	CT_AUTO(ct_auto_close) int first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL(connect(first, (const struct sockaddr *)&address, sizeof address), 0);
	CU_ASSERT_FALSE(ct_agent_ask(fake.dir, PID, "stacks", ct_now_us() + 50000, &json, &err));
	CU_ASSERT_EQUAL(err.code, CT_TIMEOUT);
	remove_dir(&fake);
}

static void test_other_failures_are_told(void)
{
	struct fake fake;
	make_dir(&fake, false);
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	CU_ASSERT_TRUE_FATAL(ct_write_file_at(fake.dir_fd, "4711.sock", "", 0, &err));
	char under_file[600], long_under_file[1024];
	snprintf(under_file, sizeof under_file, "%s/4711.sock", fake.dir);
	CU_ASSERT_FALSE(ct_agent_ask(under_file, PID, "stacks", ct_now_us(), &json, &err));
	CU_ASSERT_EQUAL(err.code, CT_SYSTEM);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "connect to the agent in process 4711: "));
	snprintf(long_under_file, sizeof long_under_file, "%s/%0200d", under_file, 0);
	CU_ASSERT_FALSE(ct_agent_ask(long_under_file, PID, "stacks", ct_now_us(), &json, &err));
	CU_ASSERT_EQUAL(err.code, CT_SYSTEM);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "4711.sock/000"));
	remove_dir(&fake);
}

static void test_request_is_one_line(void)
{
	static const char *const wrong[] = {"", "stacks\n", "a\nb"};
	struct ct_error err;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	for (size_t i = 0; i < CT_COUNT(wrong); i++) {
		CU_ASSERT_FALSE(ct_agent_ask("/tmp", PID, wrong[i], ct_now_us(), &json, &err));
		CU_ASSERT_EQUAL(err.code, CT_USAGE);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"a whole answer is handed over", test_whole_answer},
		{"an answer in pieces is put together", test_answer_in_pieces},
		{"the folder may be longer than an address", test_folder_longer_than_an_address},
		{"silence ends at the deadline", test_silence_ends_at_the_deadline},
		{"too long an answer is refused", test_too_long_an_answer},
		{"an answer cut anywhere is refused", test_cut_answers},
		{"no answer at all is told", test_no_answer_at_all},
		{"closed before the request is read", test_closed_before_the_request_is_read},
		{"no agent is told in plain words", test_no_agent},
		{"a full queue ends at the deadline", test_full_queue_ends_at_the_deadline},
		{"other failures are told", test_other_failures_are_told},
		{"a request is one line", test_request_is_one_line},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("agent", tests);
}
