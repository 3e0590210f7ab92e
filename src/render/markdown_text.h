// Foreign text in Markdown that stays text: no markup, no HTML, no link, no mention. Private to render/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_MARKDOWN_TEXT_H
#define CT_RENDER_MARKDOWN_TEXT_H

#include <stdbool.h>

#include "base/base.h"

// Whether a text of one line holds nothing that Markdown (CommonMark, GitHub's additions) could take for more than words.
bool ct_markdown_is_plain(const char *text);
// Appends a text of one line: as it is when it is plain, else as a code span whose fence is longer than any run of backticks in it.
void ct_markdown_add(struct ct_str *s, const char *text);
// Appends lines as a fenced block, the fence longer than any run of backticks in them.
void ct_markdown_add_block(struct ct_str *s, const char *lines);

#endif
