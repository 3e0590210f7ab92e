// What stands around a frame's line; see text_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>

#include "render/text_priv.h"

struct ct_excerpt ct_excerpt_of(struct ct_page *page, const struct ct_host_frame *f)
{
	struct ct_excerpt e = {.first = f->excerpt_line};
	if (!ct_frame_has_excerpt(f, &e.failing))
		return e;
	e.n = f->n_excerpt;
	e.line = ct_arena_array(&page->arena, e.n, sizeof *e.line);
	for (size_t i = 0; i < e.n; i++)
		e.line[i] = ct_page_flat(page, f->excerpt[i] ? f->excerpt[i] : "");
	for (uint32_t last = e.first + (uint32_t)e.n - 1; last; last /= 10)
		e.digits++;
	return e;
}
