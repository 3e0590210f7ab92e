// The driver's device assert line. The one stable anchor is "block: [x,y,z], thread: [x,y,z] Assertion": the
// location stands left of it, the expression right of it, and either may hold anything.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "diagnose/diagnose_priv.h"

enum {
	// torch._assert_async carries at most 255 bytes of text; expressions of macros are longer, but on one line.
	MAX_BROKEN_EXPRESSION = 1024,
	// Compute capability table of the CUDA C++ Programming Guide 13.0.
	MAX_BLOCK_YZ = 65535,
	MAX_THREADS_OF_BLOCK = 1024,
	MAX_THREAD_Z = 63,
};

bool ct_span_equal(struct ct_span a, struct ct_span b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

size_t ct_span_find(const char *text, size_t from, size_t end, const char *word)
{
	const char *p = from < end ? memmem(text + from, end - from, word, strlen(word)) : NULL;
	return p ? (size_t)(p - text) : end;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t skip_blanks(const char *text, size_t at, size_t end)
{
	while (at < end && is_blank(text[at]))
		at++;
	return at;
}

// Offset behind word, whose letters may be torn by line breaks ("Asserti" + break + "on"); 0 when something else
// stands there, end when the text ends first.
static size_t match_torn(const char *text, size_t at, size_t end, const char *word)
{
	for (; *word; word++, at++) {
		while (at < end && (text[at] == '\n' || text[at] == '\r'))
			at++;
		if (at >= end)
			return end;
		if (text[at] != *word)
			return 0;
	}
	return at;
}

// A number is never joined over a line break: what would come out could be wrong.
static size_t match_number(const char *text, size_t at, size_t end, uint32_t *ret)
{
	uint64_t n = 0;
	size_t i = at;
	for (; i < end && text[i] >= '0' && text[i] <= '9' && i - at < 10; i++)
		n = n * 10 + (uint64_t)(text[i] - '0');
	*ret = n <= UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	return i == at ? (at >= end ? end : 0) : i;
}

static bool is_possible(const struct ct_gridpos *at)
{
	const struct ct_dim3 *b = &at->block, *t = &at->thread;
	return b->x < INT32_MAX && b->y < MAX_BLOCK_YZ && b->z < MAX_BLOCK_YZ && t->x < MAX_THREADS_OF_BLOCK && t->y < MAX_THREADS_OF_BLOCK &&
	       t->z <= MAX_THREAD_Z && (t->x + 1) * (t->y + 1) <= MAX_THREADS_OF_BLOCK && (t->x + 1) * (t->y + 1) * (t->z + 1) <= MAX_THREADS_OF_BLOCK;
}

size_t ct_assert_coords(const char *text, size_t from, size_t length, struct ct_gridpos *ret_at, bool *ret_valid)
{
	uint32_t *numbers[] = {&ret_at->block.x, &ret_at->block.y, &ret_at->block.z, &ret_at->thread.x, &ret_at->thread.y, &ret_at->thread.z};
	static const char *const behind[] = {",", ",", "],", ",", ",", "]"};
	*ret_valid = false;
	size_t at = from;
	for (size_t i = 0; i < CT_COUNT(numbers); i++) {
		at = match_number(text, at, length, numbers[i]);
		if (at == 0 || at == length)
			return at;
		at = match_torn(text, at, length, behind[i]);
		if (at == 0 || (at == length && i + 1 < CT_COUNT(numbers)))
			return at;
		if (i == 2) {
			at = match_torn(text, skip_blanks(text, at, length), length, "thread: [");
			if (at == 0 || at == length)
				return at;
		}
	}
	*ret_valid = is_possible(ret_at);
	return at;
}

// Last "failed." of [begin, end); with a quote, only one with a closing quote in front. *ret_expression_end is where the
// expression ends; it is left alone when there is none.
static size_t last_failed(const char *text, size_t begin, size_t end, bool quoted, size_t *ret_expression_end)
{
	static const char word[] = "failed.";
	const size_t n = sizeof word - 1;
	if (end < begin + n)
		return end;
	for (size_t at = end - n + 1; at-- > begin;) {
		if (text[at] != 'f' || memcmp(text + at, word, n) != 0)
			continue;
		size_t e = at;
		while (e > begin && text[e - 1] == ' ')
			e--;
		bool closed = e > begin && (text[e - 1] == '`' || text[e - 1] == '\'');
		if (quoted && !closed)
			continue;
		*ret_expression_end = quoted ? e - 1 : e;
		return at + n;
	}
	return end;
}

// The expression from `at`, behind "Assertion". limit: the next record's anchor, or length.
static enum ct_scan scan_expression(const char *text, size_t at, size_t limit, size_t length, struct ct_assert_spans *ret)
{
	at = skip_blanks(text, at, limit);
	if (at >= limit)
		return limit == length ? CT_SCAN_OPEN : CT_SCAN_NONE;
	bool quoted = text[at] == '`' || text[at] == '\'';
	size_t begin = at + quoted, first_eol = ct_span_find(text, at, limit, "\n");
	for (size_t line = begin; line <= limit && line - begin <= MAX_BROKEN_EXPRESSION;) {
		size_t eol = ct_span_find(text, line, limit, "\n"), end = 0;
		size_t behind = last_failed(text, line, eol, quoted, &end);
		if (end) {
			ret->expression = (struct ct_span){.at = text + begin, .length = end - begin};
			ret->end = behind;
			return CT_SCAN_FOUND;
		}
		line = eol + 1;
	}
	// One of the quotes was eaten: the first line alone.
	size_t end = 0;
	if (quoted && (limit < length || length - begin > MAX_BROKEN_EXPRESSION)) {
		size_t behind = last_failed(text, begin, first_eol, false, &end);
		if (end) {
			ret->expression = (struct ct_span){.at = text + begin, .length = end - begin};
			ret->end = behind;
			return CT_SCAN_FOUND;
		}
	}
	return limit == length && length - begin <= MAX_BROKEN_EXPRESSION ? CT_SCAN_OPEN : CT_SCAN_NONE;
}

// "]: Assertion failed: `COND`: MESSAGE", to the end of the line. The condition may hold backticks.
static enum ct_scan scan_printf(const char *text, size_t at, size_t length, struct ct_assert_spans *ret)
{
	size_t eol = ct_span_find(text, at, length, "\n");
	at = skip_blanks(text, at, eol);
	ret->form = CT_ASSERT_PRINTF;
	ret->end = eol;
	if (at < eol && text[at] == '`') {
		size_t close = ct_span_find(text, at + 1, eol, "`: ");
		if (close == eol) {
			const char *last = memrchr(text + at + 1, '`', eol - at - 1);
			close = last ? (size_t)(last - text) : eol;
		}
		at++;
		ret->expression = (struct ct_span){.at = text + at, .length = close - at};
	} else {
		ret->expression = (struct ct_span){.at = text + at, .length = eol - at};
	}
	return CT_SCAN_FOUND;
}

// Pieces of two lines alternate: file, line when it is the same in both, and expression are what can be had.
static enum ct_scan scan_mixed(const char *text, size_t anchor, size_t eol, struct ct_assert_spans *ret)
{
	size_t word = eol, end = 0;
	for (size_t at = anchor; (at = ct_span_find(text, at, eol, "Assertion ")) < eol; at++)
		word = at;
	if (word == eol)
		return CT_SCAN_NONE;
	size_t begin = skip_blanks(text, word + strlen("Assertion "), eol);
	bool quoted = begin < eol && (text[begin] == '`' || text[begin] == '\'');
	begin += quoted;
	size_t behind = last_failed(text, begin, eol, quoted, &end);
	if (!end)
		return CT_SCAN_NONE;
	ret->mixed = true;
	ret->expression = (struct ct_span){.at = text + begin, .length = end - begin};
	ret->end = behind;
	return CT_SCAN_FOUND;
}

// The head ends at the anchor. When its own line does not hold FILE:LINE, the line in front of it may.
static void scan_head(const char *text, size_t from, size_t anchor, struct ct_assert_spans *ret)
{
	const char *break_at = memrchr(text + from, '\n', anchor - from);
	size_t begin = break_at ? (size_t)(break_at - text) + 1 : from;
	begin += ct_log_box(text + begin, anchor - begin);
	ct_assert_head(text, begin, anchor, ret);
	ret->begin = begin;
	if (ret->file.at || !break_at)
		return;
	size_t previous_end = (size_t)(break_at - text);
	while (previous_end > from && is_blank(text[previous_end - 1]))
		previous_end--;
	break_at = memrchr(text + from, '\n', previous_end - from);
	size_t previous = break_at ? (size_t)(break_at - text) + 1 : from;
	// Only when the break is within the head: behind a ':' on the line before, or in front of ":LINE".
	bool torn = previous_end > previous && text[previous_end - 1] == ':';
	if (!torn && !(skip_blanks(text, begin, anchor) < anchor && text[skip_blanks(text, begin, anchor)] == ':'))
		return;
	struct ct_assert_spans joined = *ret;
	ct_assert_head(text, previous, anchor, &joined);
	if (joined.file.at) {
		*ret = joined;
		ret->begin = previous;
	}
}

struct anchor {
	size_t at;    // of this record
	size_t head;  // where its head ends: the first anchor of the line when torn records stand in between
	size_t next;  // the anchor after it, or length
	size_t eol;
	bool torn;  // a record without an end stands in front: its missing numbers may be the ones found here
};

// Behind the coordinates: "Assertion" or, for the printf form, ": Assertion failed:".
static enum ct_scan scan_text(const char *text, size_t length, const struct anchor *a, struct ct_assert_spans *ret)
{
	static const char printf_word[] = " failed:";
	const size_t n = sizeof printf_word - 1;
	size_t at = ret->tail;
	bool colon = text[at] == ':';
	at = match_torn(text, skip_blanks(text, at + colon, length), length, "Assertion");
	if (at == 0)
		return CT_SCAN_NONE;
	if (at == length)
		return a->next == length ? CT_SCAN_OPEN : CT_SCAN_NONE;
	if (colon && length - at >= n && memcmp(text + at, printf_word, n) == 0)
		return scan_printf(text, at + n, length, ret);
	return scan_expression(text, at, a->next, length, ret);
}

static bool holds(struct ct_span span, const char *word)
{
	return ct_span_find(span.at, 0, span.length, word) < span.length;
}

static enum ct_scan scan_at(const char *text, size_t length, size_t from, const struct anchor *a, struct ct_assert_spans *ret)
{
	bool valid = false;
	*ret = (struct ct_assert_spans){.form = CT_ASSERT_LINE, .mixed = a->head != a->at};
	ret->coords = a->at + strlen(CT_ASSERT_ANCHOR);
	ret->tail = ct_assert_coords(text, ret->coords, length, &ret->at, &valid);
	enum ct_scan result = CT_SCAN_NONE;
	if (ret->tail == length)
		result = a->next == length ? CT_SCAN_OPEN : CT_SCAN_NONE;
	else if (ret->tail)
		result = scan_text(text, length, a, ret);
	if (result == CT_SCAN_NONE) {
		valid = false;
		ret->coords = ret->tail = 0;
		result = scan_mixed(text, a->at, a->next < a->eol ? a->next : a->eol, ret);
	}
	if (result == CT_SCAN_OPEN) {
		const char *break_at = memrchr(text + from, '\n', a->at - from);
		ret->begin = break_at ? (size_t)(break_at - text) + 1 : from;
	}
	if (result != CT_SCAN_FOUND)
		return result;
	scan_head(text, from, a->head, ret);
	if (ret->form == CT_ASSERT_LINE && (holds(ret->expression, "thread: [") || holds(ret->expression, "] Assertion "))) {
		ret->mixed = true;
		scan_mixed(text, a->at, a->eol, ret);
	}
	ret->has_position = valid && !ret->mixed && !a->torn;
	return CT_SCAN_FOUND;
}

enum ct_scan ct_assert_scan(const char *text, size_t length, size_t from, struct ct_assert_spans *ret)
{
	struct ct_assert_spans open = {.begin = length};
	size_t dsa = ct_span_find(text, from, length, CT_ASSERT_DSA_ANCHOR);
	struct anchor a = {.at = ct_span_find(text, from, length, CT_ASSERT_ANCHOR)};
	for (; a.at < length; a.at = a.next) {
		if (dsa < a.at) {
			if (ct_assert_dsa(text, length, dsa, ret) == CT_SCAN_FOUND)
				return CT_SCAN_FOUND;
			dsa = length;
		}
		a.next = ct_span_find(text, a.at + strlen(CT_ASSERT_ANCHOR), length, CT_ASSERT_ANCHOR);
		if (a.eol == 0 || a.at > a.eol) {
			a.eol = ct_span_find(text, a.at, length, "\n");
			a.head = a.at;
		}
		enum ct_scan result = scan_at(text, length, from, &a, ret);
		if (result == CT_SCAN_FOUND)
			return result;
		if (result == CT_SCAN_OPEN)
			open = *ret;
		a.torn = true;
	}
	if (dsa < length) {
		enum ct_scan result = ct_assert_dsa(text, length, dsa, ret);
		if (result != CT_SCAN_NONE)
			return result;
	}
	*ret = open;
	return open.begin < length ? CT_SCAN_OPEN : CT_SCAN_NONE;
}

bool ct_parse_assert_line(struct ct_arena *arena, const char *text, size_t length, struct ct_assert_line *ret_line)
{
	struct ct_assert_spans s;
	if (ct_assert_scan(text, length, 0, &s) != CT_SCAN_FOUND)
		return false;
	*ret_line = (struct ct_assert_line){
		.prefix = ct_arena_clean(arena, s.prefix.at ? s.prefix.at : "", s.prefix.length),
		.file = ct_arena_clean(arena, s.file.at, s.file.length),
		.line = s.has_line ? s.line : 0,
		.function = ct_arena_clean(arena, s.function.at, s.function.length),
		.expression = ct_arena_clean(arena, s.expression.at, s.expression.length),
		.at = s.at,
		.has_position = s.has_position,
	};
	if (!s.has_position)
		ret_line->at = (struct ct_gridpos){.block = {0, 0, 0}};
	return true;
}
