// Clocks; see clock.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/clock.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t which)
{
	struct timespec t;
	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t ct_now_us(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t ct_wall_us(void)
{
	return read_clock(CLOCK_REALTIME);
}

void ct_format_time(int64_t wall_us, char *ret_text, size_t size)
{
	time_t seconds = (time_t)(wall_us / 1000000);
	struct tm tm;
	char date[24] = "";
	gmtime_r(&seconds, &tm);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret_text, size, "%s.%03dZ", date, (int)(wall_us / 1000 % 1000));
}

int ct_ms_until(int64_t deadline_us)
{
	int64_t left = deadline_us - ct_now_us();
	if (left <= 0)
		return 0;
	return left / 1000 >= INT_MAX ? INT_MAX : (int)((left + 999) / 1000);
}
