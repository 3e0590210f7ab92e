// What stands left of "block: [": prefix, FILE, LINE, FUNCTION. Anything can be glued in front of the file.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "diagnose/diagnose_priv.h"

// What __FILE__ ends in; .py is Triton's. Longer ones first where one begins with the other.
static const char *const extensions[] = {".cuh", ".cu", ".hpp", ".hxx", ".hh", ".h", ".inl", ".cpp", ".cxx", ".cc", ".py", ".ipp"};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

// Length of the extension at text[at], 0 when none stands there or the word goes on.
static size_t extension_at(const char *text, size_t at, size_t end)
{
	for (size_t i = 0; i < CT_COUNT(extensions); i++) {
		size_t n = strlen(extensions[i]);
		if (n <= end - at && memcmp(text + at, extensions[i], n) == 0 && (at + n == end || !is_word(text[at + n])))
			return n;
	}
	return 0;
}

// ":123" followed by ": ", by ":" and a line break, or by the end. Returns the offset behind the digits, 0 when it is not that.
static size_t line_number_at(const char *text, size_t at, size_t end, uint32_t *ret_line)
{
	if (at >= end || text[at] != ':' || at + 1 >= end || !is_digit(text[at + 1]))
		return 0;
	uint64_t line = 0;
	size_t i = at + 1;
	for (; i < end && is_digit(text[i]); i++)
		line = line <= UINT32_MAX ? line * 10 + (uint64_t)(text[i] - '0') : line;
	bool ends = i == end || (text[i] == ':' && (i + 1 == end || is_blank(text[i + 1])));
	if (!ends || line > UINT32_MAX)
		return 0;
	*ret_line = (uint32_t)line;
	return i;
}

// C: of a Windows path that goes on at `at`.
static bool drive_before(const char *text, size_t begin, size_t at)
{
	if (at < begin + 2 || text[at - 1] != ':' || (text[at] != '\\' && text[at] != '/'))
		return false;
	char letter = text[at - 2];
	return is_word(letter) && !is_digit(letter) && letter != '_' && (at == begin + 2 || !is_word(text[at - 3]));
}

// Where the path that ends at `end` begins. Stops at what no path holds, then cuts off what is glued in front of its root.
static size_t path_begin(const char *text, size_t begin, size_t end, bool *ret_doubled)
{
	size_t b = end;
	while (b > begin && !strchr(":`\"<>|*\n", text[b - 1]) && (unsigned char)text[b - 1] >= 0x20)
		b--;
	if (b < end && drive_before(text, begin, b))
		return b - 2;
	for (size_t i = b; i < end; i++) {
		size_t extension = text[i] == '.' ? extension_at(text, i, end) : 0;
		if (extension && i + extension < end && (text[i + extension] == '/' || text[i + extension] == '\\')) {
			*ret_doubled = true;  // "x.cu/pytorch/x.cu": two writers
			b = i + extension;
		} else if (is_blank(text[i])) {
			b = i + 1;
		} else if (strchr("])}%", text[i]) && i + 1 < end && strchr("/.", text[i + 1])) {
			b = i + 1;
		}
	}
	// Bytes that are not text, and U+FFFD in their place: what was there before the path is lost.
	for (size_t i = b; i < end; i++)
		if ((unsigned char)text[i] >= 0x80 && i + 1 < end && text[i + 1] == '/' && memchr(text + b, '/', i - b) == NULL)
			b = i + 1;
	return b;
}

// "unknown" of Triton without line information.
static size_t unknown_begin(const char *text, size_t begin, size_t colon)
{
	static const char word[] = "unknown";
	size_t n = sizeof word - 1;
	if (colon - begin < n || memcmp(text + colon - n, word, n) != 0)
		return colon;
	size_t b = colon - n;
	return b == begin || !is_word(text[b - 1]) ? b : colon;
}

struct place {
	size_t file, colon, after;  // text[file, colon) is the path, [colon, after) is ":LINE"
	uint32_t line;
	bool doubled;
};

// The last FILE:LINE in [begin, end): text in front of the path may hold one of its own.
static bool find_place(const char *text, size_t begin, size_t end, struct place *ret)
{
	for (size_t colon = end; colon-- > begin;) {
		struct place p = {.colon = colon};
		p.after = line_number_at(text, colon, end, &p.line);
		if (!p.after)
			continue;
		size_t dot = colon;
		while (dot > begin && is_word(text[dot - 1]))
			dot--;
		if (dot > begin && extension_at(text, dot - 1, colon) == colon - dot + 1)
			p.file = path_begin(text, begin, colon, &p.doubled);
		else
			p.file = unknown_begin(text, begin, colon);
		// A break may stand behind the line number, but a function does not go over lines.
		size_t function = p.after + (p.after < end);
		while (function < end && is_blank(text[function]))
			function++;
		if (p.file < colon && !memchr(text + function, '\n', end - function)) {
			*ret = p;
			return true;
		}
	}
	return false;
}

static struct ct_span trimmed(const char *text, size_t begin, size_t end)
{
	while (begin < end && is_blank(text[begin]))
		begin++;
	while (end > begin && is_blank(text[end - 1]))
		end--;
	return (struct ct_span){.at = text + begin, .length = end - begin};
}

// A path that another writer cut before ":LINE": "../IndexKernelUtils.cu    return forward_call(...)".
static bool find_cut_path(const char *text, size_t begin, size_t end, struct place *ret)
{
	for (size_t dot = end; dot-- > begin;) {
		size_t n = text[dot] == '.' ? extension_at(text, dot, end) : 0;
		if (!n || (dot + n < end && !is_blank(text[dot + n])))
			continue;
		ret->colon = dot + n;
		ret->file = path_begin(text, begin, ret->colon, &ret->doubled);
		return memchr(text + ret->file, '/', ret->colon - ret->file) || memchr(text + ret->file, '\\', ret->colon - ret->file);
	}
	return false;
}

static void set_function(struct ct_assert_spans *ret, const char *text, size_t begin, size_t end)
{
	if (begin < end && text[begin] == ':')
		begin++;
	struct ct_span function = trimmed(text, begin, end);
	if (!function.length)
		return;
	// "operator():115: operator()": the rest of a second line's head.
	for (size_t i = 0; i + 1 < function.length; i++) {
		uint32_t line;
		if (line_number_at(function.at, i, function.length, &line)) {
			ret->mixed = true;
			ret->has_line = ret->has_line && line == ret->line;
			return;
		}
	}
	ret->function = function;
}

void ct_assert_head(const char *text, size_t begin, size_t end, struct ct_assert_spans *ret)
{
	struct ct_span whole = trimmed(text, begin, end);
	size_t b = (size_t)(whole.at - text), e = b + whole.length;
	if (e > b && text[e - 1] == ':')
		e--;
	struct place p;
	if (find_place(text, b, e, &p)) {
		ret->prefix = trimmed(text, b, p.file);
		ret->file = (struct ct_span){.at = text + p.file, .length = p.colon - p.file};
		ret->has_line = true;
		ret->line = p.line;
		ret->mixed |= p.doubled;
		set_function(ret, text, p.after, e);
		return;
	}
	// The last line of the head alone: ":16: function".
	const char *break_at = memrchr(text + b, '\n', e - b);
	size_t last = break_at ? (size_t)(break_at - text) + 1 : b;
	while (last < e && text[last] == ' ')
		last++;
	size_t after = line_number_at(text, last, e, &ret->line);
	ret->has_line = after > 0;
	if (!after) {
		ret->prefix = (struct ct_span){.at = text + b, .length = 0};
		set_function(ret, text, last, e);
		return;
	}
	p = (struct place){.file = b};
	bool found = find_cut_path(text, b, last, &p);
	ret->prefix = trimmed(text, b, found ? p.file : b);
	if (found)
		ret->file = (struct ct_span){.at = text + p.file, .length = p.colon - p.file};
	set_function(ret, text, after, e);
}
