// A text that grows, and the cleaning of foreign text.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_STR_H
#define CT_STR_H

#include <stdbool.h>
#include <stddef.h>

// Owned bytes, always followed by a NUL when data is not NULL.
struct ct_str {
	char *data;
	size_t length, capacity;
};

#define CT_STR_INIT {.data = NULL, .length = 0, .capacity = 0}

void ct_str_done(struct ct_str *s);  // frees; s is empty and usable afterwards
void ct_str_clear(struct ct_str *s);  // length 0, memory kept
const char *ct_str_text(const struct ct_str *s);  // borrowed; "" when empty, never NULL

void ct_str_append(struct ct_str *s, const char *bytes, size_t length);
void ct_str_add(struct ct_str *s, const char *text);
void ct_str_addc(struct ct_str *s, char c);
void ct_str_addf(struct ct_str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Removes the first n bytes (n <= length).
void ct_str_consume(struct ct_str *s, size_t n);

// Appends foreign text as valid UTF-8 without control characters: each invalid byte, C0 control
// (but tab and newline), DEL and C1 control becomes U+FFFD. Bidirectional overrides (U+202A..U+202E,
// U+2066..U+2069) too: they can make a terminal show another text than the file holds.
void ct_str_append_clean(struct ct_str *s, const char *bytes, size_t length);

// Columns that a clean UTF-8 text takes on a terminal (wcwidth; 1 where the locale does not know).
size_t ct_text_columns(const char *text);

bool ct_starts_with(const char *text, const char *prefix);
bool ct_ends_with(const char *text, const char *suffix);
// Last component of a path with / or \ separators; borrowed from path.
const char *ct_basename(const char *path);

void ct_auto_str(struct ct_str *s);

#endif
