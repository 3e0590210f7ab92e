// The machine-readable format: the incident as it is.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/formats.h"

bool ct_render_json(const struct ct_incident *incident, const struct ct_render_options *options, FILE *out, struct ct_error *err)
{
	(void)options;
	return ct_incident_write_json(incident, out, err);
}
