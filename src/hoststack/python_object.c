// A str object of another process as clean UTF-8.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "hoststack/python_priv.h"

static void append_point(struct ct_str *s, uint32_t c)
{
	char b[4];
	size_t n = 0;
	if (c < 0x80) {
		b[n++] = (char)c;
	} else if (c < 0x800) {
		b[n++] = (char)(0xc0 | c >> 6);
		b[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		b[n++] = (char)(0xe0 | c >> 12);
		b[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		b[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		b[n++] = (char)(0xf0 | (c >> 18 & 7));
		b[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		b[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		b[n++] = (char)(0x80 | (c & 0x3f));
	}
	ct_str_append(s, b, n);
}

// A surrogate or a number above U+10FFFF becomes bytes that the cleaning turns into U+FFFD.
static void append_points(struct ct_str *s, const void *data, size_t count, unsigned width)
{
	const uint8_t *p = data;
	for (size_t i = 0; i < count; i++) {
		uint32_t c = 0;
		if (width == 1) {
			c = p[i];
		} else if (width == 2) {
			uint16_t half;
			memcpy(&half, p + 2 * i, sizeof half);
			c = half;
		} else {
			memcpy(&c, p + 4 * i, sizeof c);
		}
		append_point(s, c);
	}
}

const char *ct_py_string(struct ct_arena *arena, const struct ct_memory *memory, const struct ct_py_layout *layout, uint64_t object)
{
	uint64_t length = 0;
	uint32_t state = 0;
	if (!object || !memory->read(memory->context, object + layout->str_length, &length, sizeof length) ||
	    !memory->read(memory->context, object + layout->str_state, &state, sizeof state))
		return NULL;
	// PyASCIIObject.state: interned 2 bits, kind 3, compact 1, ascii 1; free-threaded 3.14 makes interned a byte of its own, so that kind
	// begins at bit 8. kind is never 0, which tells the two apart.
	unsigned shift = state & 0xfc ? 2 : 8;
	unsigned width = state >> shift & 7;
	bool compact = state >> (shift + 3) & 1, ascii = state >> (shift + 4) & 1;
	if ((width != 1 && width != 2 && width != 4) || !compact || (ascii && width != 1) || length > INT32_MAX)
		return NULL;
	size_t count = length < CT_PY_MAX_STRING ? (size_t)length : CT_PY_MAX_STRING;
	uint8_t data[CT_PY_MAX_STRING * 4];
	if (count && !memory->read(memory->context, object + (ascii ? layout->str_ascii : layout->str_compact), data, count * width))
		return NULL;
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	append_points(&text, data, count, width);
	return ct_arena_clean(arena, ct_str_text(&text), text.length);
}
