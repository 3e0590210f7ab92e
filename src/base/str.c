// Growing text; see str.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/str.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/arena.h"

void ct_str_done(struct ct_str *s)
{
	free(s->data);
	*s = (struct ct_str)CT_STR_INIT;
}

void ct_auto_str(struct ct_str *s)
{
	ct_str_done(s);
}

void ct_str_clear(struct ct_str *s)
{
	s->length = 0;
	if (s->data)
		s->data[0] = '\0';
}

const char *ct_str_text(const struct ct_str *s)
{
	return s->data ? s->data : "";
}

static void reserve(struct ct_str *s, size_t more)
{
	size_t need = s->length + more + 1;
	if (need <= s->capacity)
		return;
	size_t capacity = s->capacity ? s->capacity : 64;
	while (capacity < need)
		capacity *= 2;
	s->data = ct_xrealloc(s->data, capacity);
	s->capacity = capacity;
}

void ct_str_append(struct ct_str *s, const char *bytes, size_t length)
{
	reserve(s, length);
	if (length)
		memcpy(s->data + s->length, bytes, length);
	s->length += length;
	s->data[s->length] = '\0';
}

void ct_str_add(struct ct_str *s, const char *text)
{
	ct_str_append(s, text, strlen(text));
}

void ct_str_addc(struct ct_str *s, char c)
{
	ct_str_append(s, &c, 1);
}

void ct_str_addf(struct ct_str *s, const char *format, ...)
{
	va_list ap, again;
	va_start(ap, format);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n > 0) {
		reserve(s, (size_t)n);
		vsnprintf(s->data + s->length, (size_t)n + 1, format, again);
		s->length += (size_t)n;
	}
	va_end(again);
}

void ct_str_consume(struct ct_str *s, size_t n)
{
	if (n == 0)
		return;
	memmove(s->data, s->data + n, s->length - n);
	s->length -= n;
	s->data[s->length] = '\0';
}

// Length of the well-formed UTF-8 sequence at p (RFC 3629: no overlongs, no surrogates, at most
// U+10FFFF), 0 if there is none; *ret_point is its code point.
static size_t decode_utf8(const unsigned char *p, size_t room, uint32_t *ret_point)
{
	if (p[0] < 0x80) {
		*ret_point = p[0];
		return 1;
	}
	size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || room < n)
		return 0;
	uint32_t point = p[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (p[i] & 0x3f);
	}
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	if (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret_point = point;
	return n;
}

static bool is_harmful(uint32_t c)
{
	bool control = (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7f && c < 0xa0);
	bool bidi = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
	return control || bidi;
}

void ct_str_append_clean(struct ct_str *s, const char *bytes, size_t length)
{
	const unsigned char *p = (const unsigned char *)bytes;
	ct_str_append(s, "", 0);
	for (size_t i = 0; i < length;) {
		uint32_t point = 0;
		size_t n = decode_utf8(p + i, length - i, &point);
		if (n == 0 || is_harmful(point)) {
			ct_str_append(s, "\xef\xbf\xbd", 3);
			i += n ? n : 1;
			continue;
		}
		ct_str_append(s, bytes + i, n);
		i += n;
	}
}

size_t ct_text_columns(const char *text)
{
	size_t columns = 0, room = strlen(text);
	const unsigned char *p = (const unsigned char *)text;
	while (room) {
		uint32_t point = 0;
		size_t n = decode_utf8(p, room, &point);
		if (n == 0)
			n = 1;
		int width = point < 0x80 ? 1 : wcwidth((wchar_t)point);
		columns += width < 0 ? 1 : (size_t)width;
		p += n;
		room -= n;
	}
	return columns;
}

bool ct_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool ct_ends_with(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);
	return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

const char *ct_basename(const char *path)
{
	const char *base = path;
	for (const char *p = path; *p; p++)
		if ((*p == '/' || *p == '\\') && p[1])
			base = p + 1;
	return base;
}
