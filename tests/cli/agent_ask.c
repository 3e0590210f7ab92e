// agent_ask DIR PID REQUEST MILLISECONDS: prints the answer; or "CODE: TEXT" and exits with 1. With a fifth argument N it asks N times and
// prints the median round trip instead.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <stdlib.h>

#include "agent/agent.h"

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static bool ask(char **argv, struct ct_str *ret_json)
{
	struct ct_error err = CT_ERROR_INIT;
	int64_t deadline_us = ct_now_us() + (int64_t)atoi(argv[4]) * 1000;
	if (ct_agent_ask(argv[1], (pid_t)atoi(argv[2]), argv[3], deadline_us, ret_json, &err))
		return true;
	printf("%s: %s\n", ct_code_name(err.code), err.text);
	return false;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 99;
	int64_t times[1000];
	int n = argc > 5 ? atoi(argv[5]) : 1;
	if (n < 1 || n > (int)CT_COUNT(times))
		return 99;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	for (int i = 0; i < n; i++) {
		int64_t start = ct_now_us();
		ct_str_clear(&json);
		if (!ask(argv, &json))
			return 1;
		times[i] = ct_now_us() - start;
	}
	if (argc > 5) {
		qsort(times, (size_t)n, sizeof times[0], compare_times);
		printf("%.3f ms\n", (double)times[n / 2] / 1000);
	} else {
		fputs(ct_str_text(&json), stdout);
	}
	return 0;
}
