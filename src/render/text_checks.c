// The four questions to the tensors of the launching call, as a table; see text_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later

#include "render/text_priv.h"

static const char *status_mark(enum ct_check_status status)
{
	switch (status) {
	case CT_CHECK_IS_OK:
		return "ok";
	case CT_CHECK_IS_SUSPECT:
		return "SUSPECT";
	case CT_CHECK_IS_UNKNOWN:
		break;
	}
	return "?";
}

void ct_text_checks(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	struct ct_rows rows = {NULL, 0};
	if (in->n_checks == 0)
		return;
	for (size_t i = 0; i < in->n_checks; i++) {
		const struct ct_check *c = &in->checks[i];
		enum ct_style style = c->status == CT_CHECK_IS_SUSPECT ? CT_BOLD : CT_PLAIN;
		ct_rows_add(page, &rows, ct_check_kind_word(c->kind), style,
			    ct_arena_printf(&page->arena, "%-9s%s", status_mark(c->status), c->seen ? c->seen : ""));
	}
	ct_page_heading(page, in->checks[0].call ? ct_arena_printf(&page->arena, "Checks of the arguments of %s", in->checks[0].call) : "Checks of the tensors on that line");
	ct_rows_print(page, &rows);
}
