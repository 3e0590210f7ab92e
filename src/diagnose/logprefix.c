// What stands in front of a line and does not belong to it: ranks, workers, collectors, loggers, frames, colours.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "diagnose/diagnose_priv.h"

enum { PREFIX_LIMIT = 256 };  // longer ones are not prefixes but text

struct cursor {
	const char *text;
	size_t at, end;
	bool first;  // nothing was taken yet
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t digits_at(const struct cursor *c, size_t at)
{
	size_t n = 0;
	while (at + n < c->end && is_digit(c->text[at + n]))
		n++;
	return n;
}

static bool word_at(const struct cursor *c, size_t at, const char *word)
{
	size_t n = strlen(word);
	return n <= c->end - at && memcmp(c->text + at, word, n) == 0;
}

// Offset of mark within the next `reach` bytes, 0 when it is not there.
static size_t find_mark(const struct cursor *c, char mark, size_t reach)
{
	size_t room = c->end - c->at < reach ? c->end - c->at : reach;
	const char *p = memchr(c->text + c->at, mark, room);
	return p ? (size_t)(p - c->text) : 0;
}

// "80746", "1,0", "00:40:46.606413"
static bool is_numbers(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!is_digit(text[i]) && !strchr(",:.", text[i]))
			return false;
	return length > 0 && is_digit(text[0]);
}

// Inside of "[...]": rank0 default3 | Rank 7 | PG 3 Rank 3 | 80746 | E830 17:28:57.1 f.cpp:1515 | f.py:527
static bool is_bracket_prefix(const char *text, size_t length)
{
	static const char *const words[] = {"rank", "default", "Rank ", "PG "};
	for (size_t i = 0; i < CT_COUNT(words); i++) {
		size_t n = strlen(words[i]);
		if (length > n && memcmp(text, words[i], n) == 0)
			return true;
	}
	if (length > 2 && strchr("EWIF", text[0]) && (is_digit(text[1]) || text[1] == ' '))
		return true;
	if (is_numbers(text, length))
		return true;
	size_t dot = ct_span_find(text, 0, length, ".py:");
	return dot < length && dot + 4 < length && is_digit(text[dot + 4]) && !memchr(text, ' ', length);
}

static size_t take_bracket(const struct cursor *c)
{
	size_t close = c->text[c->at] == '[' ? find_mark(c, ']', 120) : 0;
	if (!close || !is_bracket_prefix(c->text + c->at + 1, close - c->at - 1))
		return 0;
	size_t end = close + 1;
	if (word_at(c, end, "<stderr>") || word_at(c, end, "<stdout>"))  // mpirun --tag-output
		end += 8;
	if (end < c->end && c->text[end] == ':')
		end++;
	return end;
}

// "(VllmWorker rank=2 pid=225)"
static size_t take_worker(const struct cursor *c)
{
	size_t close = c->text[c->at] == '(' ? find_mark(c, ')', 120) : 0;
	if (!close)
		return 0;
	bool names = ct_span_find(c->text, c->at, close, "pid=") < close || ct_span_find(c->text, c->at, close, "rank=") < close;
	return names ? close + 1 : 0;
}

// "ERROR 06-26 23:10:17"
static size_t take_level(const struct cursor *c)
{
	static const char *const levels[] = {"ERROR ", "WARNING ", "INFO ", "CRITICAL ", "DEBUG "};
	for (size_t i = 0; i < CT_COUNT(levels); i++) {
		size_t at = c->at + strlen(levels[i]);
		if (!word_at(c, c->at, levels[i]) || digits_at(c, at) != 2)
			continue;
		while (at < c->end && (is_digit(c->text[at]) || strchr("-: ,.", c->text[at])))
			at++;
		return at;
	}
	return 0;
}

// Kubernetes: "2026-01-17T18:48:10.418481013+01:00 stderr F"
static size_t take_iso_time(const struct cursor *c)
{
	if (digits_at(c, c->at) != 4 || c->end - c->at < 20 || c->text[c->at + 4] != '-' || c->text[c->at + 10] != 'T')
		return 0;
	size_t end = find_mark(c, ' ', 48);
	if (end && (word_at(c, end, " stderr F ") || word_at(c, end, " stdout F ") || word_at(c, end, " stderr P ") || word_at(c, end, " stdout P ")))
		end += 9;
	return end;
}

// journald: "Oct 04 15:02:41 host unit[394]:"
static size_t take_journal(const struct cursor *c)
{
	if (c->end - c->at < 20 || c->text[c->at + 3] != ' ' || c->text[c->at + 6] != ' ' || c->text[c->at + 9] != ':' || c->text[c->at + 12] != ':')
		return 0;
	size_t colon = ct_span_find(c->text, c->at, c->end, "]: ");
	return colon < c->end ? colon + 2 : 0;
}

// grep -n and srun --label: "14633:" "0: ", only at the very start and never the hour of a time.
static size_t take_number(const struct cursor *c)
{
	size_t at = c->at + digits_at(c, c->at);
	if (!c->first || at == c->at || at + 1 >= c->end || c->text[at] != ':' || is_digit(c->text[at + 1]))
		return 0;
	return at + 1;
}

static size_t take_one(const struct cursor *c)
{
	static size_t (*const takers[])(const struct cursor *) = {take_bracket, take_worker, take_level, take_iso_time, take_journal, take_number};
	for (size_t i = 0; i < CT_COUNT(takers); i++) {
		size_t end = takers[i](c);
		if (end)
			return end;
	}
	return 0;
}

size_t ct_log_prefix(const char *text, size_t length)
{
	struct cursor c = {.text = text, .end = length < PREFIX_LIMIT ? length : PREFIX_LIMIT, .first = true};
	size_t taken = 0;
	while (c.at < c.end) {
		size_t end = take_one(&c);
		if (!end)
			return taken;
		taken = c.at = end;
		c.first = false;
		while (c.at < c.end && c.text[c.at] == ' ')
			c.at++;
	}
	return taken;
}

size_t ct_log_box(const char *text, size_t length)
{
	size_t i = 0, box = 0;
	while (i < length) {
		const unsigned char *p = (const unsigned char *)text + i;
		bool drawn = length - i >= 3 && p[0] == 0xe2 && (p[1] == 0x94 || p[1] == 0x95) && p[2] >= 0x80 && p[2] <= 0xbf;
		if (drawn)
			box = i += 3;
		else if (*p == ' ')
			i++;
		else
			break;
	}
	return box ? i : 0;
}

// Behind the sequence that starts with the ESC at `at` (ECMA-48: CSI, strings, two-byte ones).
static size_t escape_end(const char *text, size_t at, size_t length)
{
	size_t i = at + 1;
	if (i >= length)
		return length;
	if (text[i] == '[') {
		for (i++; i < length && !(text[i] >= 0x40 && text[i] <= 0x7e); i++)
			if (text[i] == '\x1b')
				return i;
		return i < length ? i + 1 : length;
	}
	if (!strchr("]PX^_", text[i]) || text[i] == '\0')
		return i + 1;
	for (i++; i < length; i++) {
		if (text[i] == '\a')
			return i + 1;
		if (text[i] == '\x1b')
			return i + 1 < length && text[i + 1] == '\\' ? i + 2 : i;
	}
	// A string that does not end on its line: it was not one; keep what follows its introducer.
	return at + 2;
}

void ct_log_strip_escapes(const char *text, size_t length, struct ct_str *ret_plain)
{
	for (size_t i = 0; i < length;) {
		const char *escape = memchr(text + i, '\x1b', length - i);
		size_t stop = escape ? (size_t)(escape - text) : length;
		ct_str_append(ret_plain, text + i, stop - i);
		i = escape ? escape_end(text, stop, length) : length;
	}
}
