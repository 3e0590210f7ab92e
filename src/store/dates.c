// Dates and spans that people type; see store.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

#define SECOND INT64_C(1000000)

static bool two_digits(const char *text, int most, int *ret_number)
{
	if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
		return false;
	*ret_number = (text[0] - '0') * 10 + text[1] - '0';
	return *ret_number <= most;
}

static int days_of_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return days[month - 1] + (month == 2 && leap);
}

static int64_t days_since_epoch(int year, int month, int day)
{
	int64_t days = day - 1;
	for (int m = 1; m < month; m++)
		days += days_of_month(year, m);
	int before = year - 1;  // leap days up to the end of that year
	return days + (year - 1970) * INT64_C(365) + (before / 4 - before / 100 + before / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400);
}

bool ct_date_parse(const char *text, size_t length, int64_t *ret_us)
{
	int century, year, month, day;
	if (length != 10 || text[4] != '-' || text[7] != '-' || !two_digits(text, 99, &century) || !two_digits(text + 2, 99, &year) ||
	    !two_digits(text + 5, 12, &month) || !two_digits(text + 8, 31, &day))
		return false;
	year += century * 100;
	if (year < 1970 || month < 1 || day < 1 || day > days_of_month(year, month))
		return false;
	*ret_us = days_since_epoch(year, month, day) * 86400 * SECOND;
	return true;
}

// "14:00" or "14:00:05", and a Z perhaps.
static bool parse_clock(const char *text, int64_t *ret_us)
{
	int hours, minutes, seconds = 0;
	if (strlen(text) < 5 || text[2] != ':' || !two_digits(text, 23, &hours) || !two_digits(text + 3, 59, &minutes))
		return false;
	text += 5;
	if (*text == ':') {
		if (!two_digits(text + 1, 59, &seconds))
			return false;
		text += 3;
	}
	*ret_us = (hours * INT64_C(3600) + minutes * 60 + seconds) * SECOND;
	return !*text || strcmp(text, "Z") == 0;
}

static bool parse_span(const char *text, int64_t *ret_us)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
	enum { MOST_DIGITS = 6 };
	size_t n = strspn(text, "0123456789");
	if (n < 1 || n > MOST_DIGITS)
		return false;
	for (size_t i = 0; i < CT_COUNT(units); i++)
		if (text[n] == units[i].unit && !text[n + 1]) {
			*ret_us = strtol(text, NULL, 10) * units[i].seconds * SECOND;
			return true;
		}
	return false;
}

bool ct_since_parse(const char *text, int64_t now_us, int64_t *ret_us, struct ct_error *err)
{
	int64_t us, clock = 0;
	if (parse_span(text, &us)) {
		*ret_us = us < now_us ? now_us - us : 1;
		return true;
	}
	size_t n = strcspn(text, "T ");
	if (ct_date_parse(text, n, &us) && (!text[n] || parse_clock(text + n + 1, &clock))) {
		*ret_us = us + clock > 0 ? us + clock : 1;  // 0 is: from ever
		return true;
	}
	ct_fail(err, CT_USAGE, "--since: '%s' is neither a date nor a span", text);
	return ct_hint(err, "2026-11-30, 2026-11-30T14:00 (UTC), or 30m, 12h, 2d, 1w before now");
}
