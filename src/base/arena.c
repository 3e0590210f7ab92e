// Arenas; see arena.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

struct ct_arena_block {
	struct ct_arena_block *next;
	size_t used, size;
	alignas(max_align_t) char data[];
};

enum { BLOCK_BYTES = 64 * 1024 };

static _Noreturn void out_of_memory(void)
{
	static const char line[] = "cudatrap: out of memory\n";
	ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
	(void)ignored;
	_exit(125);
}

void *ct_xrealloc(void *pointer, size_t size_bytes)
{
	void *p = realloc(pointer, size_bytes ? size_bytes : 1);
	if (!p)
		out_of_memory();
	return p;
}

char *ct_xstrdup(const char *text)
{
	size_t size = strlen(text) + 1;
	return memcpy(ct_xrealloc(NULL, size), text, size);
}

void ct_arena_done(struct ct_arena *arena)
{
	for (struct ct_arena_block *b = arena->head, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	arena->head = NULL;
	arena->total_bytes = 0;
}

void *ct_arena_alloc(struct ct_arena *arena, size_t size_bytes)
{
	if (size_bytes > SIZE_MAX / 2)
		out_of_memory();
	size_t need = (size_bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
	struct ct_arena_block *b = arena->head;
	if (!b || b->size - b->used < need) {
		size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
		b = ct_xrealloc(NULL, sizeof *b + size);
		*b = (struct ct_arena_block){.next = arena->head, .used = 0, .size = size};
		arena->head = b;
	}
	void *p = b->data + b->used;
	b->used += need;
	arena->total_bytes += need;
	return memset(p, 0, need);
}

void *ct_arena_array(struct ct_arena *arena, size_t count, size_t size_bytes)
{
	if (size_bytes && count > SIZE_MAX / size_bytes)
		out_of_memory();
	return ct_arena_alloc(arena, count * size_bytes);
}

char *ct_arena_strndup(struct ct_arena *arena, const char *text, size_t length)
{
	if (!text)
		return NULL;
	char *copy = ct_arena_alloc(arena, length + 1);
	memcpy(copy, text, length);
	return copy;
}

char *ct_arena_strdup(struct ct_arena *arena, const char *text)
{
	return text ? ct_arena_strndup(arena, text, strlen(text)) : NULL;
}

char *ct_arena_printf(struct ct_arena *arena, const char *format, ...)
{
	va_list ap, again;
	va_start(ap, format);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	char *text = ct_arena_alloc(arena, (size_t)(n < 0 ? 0 : n) + 1);
	if (n > 0)
		vsnprintf(text, (size_t)n + 1, format, again);
	va_end(again);
	return text;
}

char *ct_arena_clean(struct ct_arena *arena, const char *text, size_t length)
{
	if (!text)
		return NULL;
	struct ct_str clean = CT_STR_INIT;
	ct_str_append_clean(&clean, text, length);
	char *copy = ct_arena_strndup(arena, ct_str_text(&clean), clean.length);
	ct_str_done(&clean);
	return copy;
}

char *ct_arena_line(struct ct_arena *arena, const char *text, size_t length)
{
	char *line = ct_arena_clean(arena, text, length);
	for (char *p = line; p && *p; p++)
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	return line;
}

void *ct_arena_grow(struct ct_arena *arena, void *array, size_t *count, size_t size_bytes)
{
	// Capacity is implied: it is the smallest power of two (8 at least) that holds count.
	size_t n = *count;
	bool full = n == 0 || (n >= 8 && (n & (n - 1)) == 0);
	if (full) {
		void *bigger = ct_arena_array(arena, n ? n * 2 : 8, size_bytes);
		if (n)
			memcpy(bigger, array, n * size_bytes);
		array = bigger;
	}
	*count = n + 1;
	return array;
}
