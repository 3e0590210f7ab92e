// The driver waits for a debugger: found at once, whatever breaks the text.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "lines.h"

struct seen {
	int64_t pids[8];
	size_t n;
};

static void on_waiting(void *context, int64_t pid)
{
	struct seen *seen = context;
	if (seen->n < CT_COUNT(seen->pids))
		seen->pids[seen->n++] = pid;
}

#define WAITS                                                                                                    \
	"node7: The application encountered a device error and CUDA_DEVICE_WAITS_ON_EXCEPTION is set. " \
	"You can now attach a debugger to the application (PID "

static void check_waiting(const char *text, const int64_t *pids, size_t n)
{
	for (size_t piece = 0; piece <= strlen(text); piece++) {
		CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
		struct seen seen = {.n = 0};
		uint64_t seed = 3;
		ct_loglines_on_waiting(lines, on_waiting, &seen);
		feed(lines, 2, text, strlen(text), piece, &seed);
		CU_ASSERT_EQUAL(seen.n, n);
		for (size_t i = 0; i < n && i < seen.n; i++)
			CU_ASSERT_EQUAL(seen.pids[i], pids[i]);
	}
}

static void test_waiting_is_told_at_once(void)
{
	// No line end, and not even the rest of the sentence.
	check_waiting(WAITS "31562)", (int64_t[]){31562}, 1);
	check_waiting(WAITS "31562", NULL, 0);
	check_waiting("node7: You\r\ncan now attach a debugger to the appli\ncation (PID 315\n62) for", (int64_t[]){31562}, 1);
	check_waiting("\x1b[31mYou can \x1b[0mnow attach a debugger to the application (PID 7)", (int64_t[]){7}, 1);
	check_waiting("You You can now attach a debugger to the application (PID 7)", (int64_t[]){7}, 1);
	check_waiting(WAITS "1) for inspection.\n" WAITS "2) for inspection.\n" WAITS "1)", (int64_t[]){1, 2, 1}, 3);
}

static void test_impossible_pids_are_ignored(void)
{
	check_waiting(WAITS "0)" WAITS "-1)" WAITS ")" WAITS "x1)" WAITS "99999999999999999999)" WAITS "4194304)" WAITS "4194303)", (int64_t[]){4194303}, 1);
}

static void test_waiting_is_in_the_log(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
	static const char text[] = WAITS "12) for inspection.\n" WAITS "12) for inspection.\n" WAITS "13)";
	ct_loglines_feed(lines, 2, text, sizeof text - 1);
	ct_loglines_finish(lines, incident);
	CU_ASSERT_EQUAL_FATAL(incident->n_log, 2);
	CU_ASSERT_EQUAL(incident->log[0].kind, CT_LOG_WAITING);
	CU_ASSERT_EQUAL(incident->log[0].count, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(incident->log[0].text, "(PID 12)"));
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"waiting is told at once", test_waiting_is_told_at_once},
		{"impossible PIDs are ignored", test_impossible_pids_are_ignored},
		{"waiting is in the log", test_waiting_is_in_the_log},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("waiting", tests);
}
