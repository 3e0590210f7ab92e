// Texts cut to a number of columns, at places where a reader would cut them; see page.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "render/page.h"

// Bytes of the character at p, by its first byte: the text is valid UTF-8 (ct_page_flat).
static size_t character_bytes(const char *p)
{
	unsigned char c = (unsigned char)*p;
	size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	size_t have = strnlen(p, n);
	return have < n ? have : n;
}

static size_t character_columns(const char *p, size_t n)
{
	char one[5] = "";
	memcpy(one, p, n);
	return ct_text_columns(one);
}

// Bytes of the longest beginning of at most columns. Combining marks take no column, so their number is
// bounded too: a thousand of them on one letter would be one very tall line.
static size_t prefix_bytes(const char *text, size_t columns)
{
	size_t bytes = 0, used = 0, limit = columns * 8 + 8;
	while (text[bytes]) {
		size_t n = character_bytes(text + bytes), wide = character_columns(text + bytes, n);
		if (used + wide > columns || bytes + n > limit)
			break;
		used += wide;
		bytes += n;
	}
	return bytes;
}

// Start of the longest end of at most columns.
static size_t suffix_start(const char *text, size_t columns)
{
	size_t start = 0, left = ct_text_columns(text);
	while (text[start] && left > columns) {
		size_t n = character_bytes(text + start);
		left -= character_columns(text + start, n);
		start += n;
	}
	return start;
}

static bool breaks_after(const char *text, size_t end)
{
	char last = text[end - 1], next = text[end];
	if (last == ',' || last == '.')  // but not within (12,1,0) and 1,024
		return (next < '0' || next > '9') && next != '.';
	return strchr("/<;|", last) || (end >= 2 && last == ':' && text[end - 2] == ':');
}

size_t ct_line_break(const char *text, size_t columns)
{
	size_t fit = prefix_bytes(text, columns);
	if (!text[fit] || fit == 0)
		return fit ? fit : character_bytes(text);
	if (text[fit] == ' ')
		return fit;
	// A break that leaves a line nearly empty is worse than a word cut in two.
	for (size_t end = fit; end > fit / 4; end--)
		if (text[end - 1] == ' ')
			return end;
	for (size_t end = fit; end > fit / 3; end--)
		if (breaks_after(text, end))
			return end;
	return fit;
}

const char *ct_elide_end(struct ct_arena *arena, const char *text, size_t columns)
{
	if (ct_text_columns(text) <= columns && strlen(text) <= columns * 8 + 8)
		return text;
	if (columns <= 3)
		return "...";
	size_t n = ct_line_break(text, columns - 3);
	while (n && text[n - 1] == ' ')
		n--;
	return ct_arena_printf(arena, "%.*s...", (int)n, text);
}

const char *ct_elide_middle(struct ct_arena *arena, const char *text, size_t columns)
{
	if (ct_text_columns(text) <= columns && strlen(text) <= columns * 8 + 8)
		return text;
	if (columns <= 5)
		return ct_elide_end(arena, text, columns);
	size_t tail = (columns - 3) / 2;
	size_t head = prefix_bytes(text, columns - 3 - tail);
	return ct_arena_printf(arena, "%.*s...%s", (int)head, text, text + suffix_start(text, tail));
}

const char *ct_elide_path(struct ct_arena *arena, const char *path, size_t columns)
{
	if (ct_text_columns(path) <= columns)
		return path;
	if (columns <= 5)
		return ct_elide_end(arena, path, columns);
	size_t start = suffix_start(path, columns - 3);
	const char *slash = strpbrk(path + start, "/\\");
	if (slash && slash[1])
		return ct_arena_printf(arena, "...%s", slash);
	return ct_elide_middle(arena, path, columns);
}
