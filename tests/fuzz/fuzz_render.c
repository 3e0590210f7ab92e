// Any bytes as an incident, in every format: nothing breaks, and Markdown stays within its bound.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "render/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = NULL;
	if (!ct_incident_read_json((const char *)data, size, &incident, NULL))
		return 0;
	for (const struct ct_renderer *r = ct_renderers; r->name; r++) {
		CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
		struct ct_error err = CT_ERROR_INIT;
		if (!ct_render_to_str(r, incident, &(struct ct_render_options){.report_path = "r/"}, &text, &err) || text.length == 0)
			abort();
		if (strcmp(r->name, "markdown") == 0 && text.length > 60000)
			abort();
	}
	return 0;
}
