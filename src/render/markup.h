// XML and the HTML that is well-formed XML too: elements that close in order, foreign text that stays text. Private to render/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_MARKUP_H
#define CT_RENDER_MARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CT_MARKUP_DEPTH = 32 };

struct ct_markup {
	FILE *out;
	const char *open[CT_MARKUP_DEPTH];  // names, borrowed: literals
	size_t depth;
	bool in_tag;  // attributes may follow
};

// <name; attributes, then content.
void ct_markup_open(struct ct_markup *m, const char *name);
// In the tag just opened. The value is foreign text; NULL: no such attribute.
void ct_markup_attr(struct ct_markup *m, const char *name, const char *value);
void ct_markup_attrf(struct ct_markup *m, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
// Foreign text: < > & and quotes become entities; what is no character of XML 1.0, or would turn the direction of the text, becomes U+FFFD.
void ct_markup_text(struct ct_markup *m, const char *text);
// The same as a CDATA section, for texts that people read in the file itself.
void ct_markup_cdata(struct ct_markup *m, const char *text);
// Our own markup or style, as it is.
void ct_markup_raw(struct ct_markup *m, const char *literal);
void ct_markup_close(struct ct_markup *m);  // </name>
void ct_markup_void(struct ct_markup *m);   // closes as <name ... />: for elements without content

// An element with class (NULL: none) and text alone, or open when text is NULL.
void ct_markup_element(struct ct_markup *m, const char *name, const char *class, const char *text);

#endif
