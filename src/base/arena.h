// Memory that lives and dies together: an incident and everything it points to.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_ARENA_H
#define CT_ARENA_H

#include <stddef.h>

struct ct_arena_block;
struct ct_arena {
	struct ct_arena_block *head;
	size_t total_bytes;  // handed out so far
};

#define CT_ARENA_INIT {.head = NULL, .total_bytes = 0}

void ct_arena_done(struct ct_arena *arena);  // frees everything; the arena may be used again

// Zeroed memory, aligned for any type, freed with the arena. Never NULL: when memory is out the
// process ends with one line on stderr and status 125. Sizes from untrusted input are checked by the caller first.
void *ct_arena_alloc(struct ct_arena *arena, size_t size_bytes);
// The same for count rows; an overflow of count * size counts as out of memory.
void *ct_arena_array(struct ct_arena *arena, size_t count, size_t size_bytes);

// Copies. text may be NULL: then NULL.
char *ct_arena_strdup(struct ct_arena *arena, const char *text);
char *ct_arena_strndup(struct ct_arena *arena, const char *text, size_t length);
char *ct_arena_printf(struct ct_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A copy as clean, single-line-safe UTF-8: invalid bytes become U+FFFD, control bytes (C0, DEL, C1)
// except tab and newline become U+FFFD too. For text from logs, dumps and other processes.
char *ct_arena_clean(struct ct_arena *arena, const char *text, size_t length);
// The same in one line: tabs and newlines become blanks.
char *ct_arena_line(struct ct_arena *arena, const char *text, size_t length);

// Appends one row to an arena array that grows by doubling: returns the (possibly moved) array.
// *count is incremented; the new last row is zeroed.
void *ct_arena_grow(struct ct_arena *arena, void *array, size_t *count, size_t size_bytes);

// malloc, realloc and strdup that end the process as ct_arena_alloc() does.
void *ct_xrealloc(void *pointer, size_t size_bytes);
char *ct_xstrdup(const char *text);

#endif
