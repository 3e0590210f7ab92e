// Plain words, code spans, fenced blocks; see markdown_text.h.
//
// In a code span nothing but its end is markup (CommonMark 0.31, 6.1), and GitHub makes no links and no mentions of what is in one.
// Escaping by backslashes instead would not stop @name, #12, bare addresses and commit numbers.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/markdown_text.h"

#include <ctype.h>
#include <string.h>

enum { COMMIT_DIGITS = 7 };  // so many hex digits become a link to a commit on GitHub

// A number of a commit, or "GH-12".
static bool word_is_link(const char *word, size_t n)
{
	size_t hex = 0, run = 0;
	for (size_t i = 0; i < n; i++) {
		run = isxdigit((unsigned char)word[i]) ? run + 1 : 0;
		hex = run > hex ? run : hex;
	}
	return hex >= COMMIT_DIGITS || (n > 3 && strncasecmp(word, "GH-", 3) == 0);
}

// Letters, digits, and the signs that mean nothing where they stand: "a, b (c); d 1.2 sm_90." but not "a.b", "c:d" or "[e](f)".
static bool char_is_plain(const char *text, size_t i)
{
	char c = text[i], next = text[i + 1];
	if (isalnum((unsigned char)c) || c == ' ')
		return true;
	if (strchr(".:;", c))
		return next == '\0' || next == ' ' || (c == '.' && i > 0 && isdigit((unsigned char)text[i - 1]) && isdigit((unsigned char)next));
	if (c == '_')  // within a word it is no emphasis
		return i > 0 && isalnum((unsigned char)text[i - 1]) && isalnum((unsigned char)next);
	if (strchr(",()/", c))
		return next != '/';
	return strchr("-+=", c) && i > 0;
}

bool ct_markdown_is_plain(const char *text)
{
	// At the beginning digits and signs can make a list or a heading of it.
	size_t digits = strspn(text, "0123456789");
	if (!isalnum((unsigned char)*text) || (digits && strchr(".)", text[digits]) && text[digits]))
		return false;
	for (size_t i = 0; text[i]; i++)
		if (!char_is_plain(text, i))
			return false;
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " ,()/");
		if (word_is_link(p, n))
			return false;
		p += n + (p[n] != '\0');
	}
	return true;
}

static size_t longest_run(const char *text, char c)
{
	size_t longest = 0, run = 0;
	for (; *text; text++) {
		run = *text == c ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void add_times(struct ct_str *s, char c, size_t n)
{
	while (n--)
		ct_str_addc(s, c);
}

void ct_markdown_add(struct ct_str *s, const char *text)
{
	if (!*text || ct_markdown_is_plain(text)) {
		ct_str_add(s, text);
		return;
	}
	size_t fence = longest_run(text, '`') + 1, n = strlen(text);
	// One space on each side is taken off again; it parts a backtick from the fence.
	bool pad = text[0] == '`' || text[n - 1] == '`' || (text[0] == ' ' && text[n - 1] == ' ');
	add_times(s, '`', fence);
	ct_str_add(s, pad ? " " : "");
	ct_str_add(s, text);
	ct_str_add(s, pad ? " " : "");
	add_times(s, '`', fence);
}

void ct_markdown_add_block(struct ct_str *s, const char *lines)
{
	size_t fence = longest_run(lines, '`') + 1;
	fence = fence < 3 ? 3 : fence;
	add_times(s, '`', fence);
	ct_str_add(s, "text\n");
	ct_str_add(s, lines);
	if (*lines && !ct_ends_with(lines, "\n"))
		ct_str_addc(s, '\n');
	add_times(s, '`', fence);
	ct_str_addc(s, '\n');
}
