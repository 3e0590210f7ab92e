// One function a format; the table in render.c is the list. Private to render/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_FORMATS_H
#define CT_RENDER_FORMATS_H

#include "render/render.h"

#define CT_RENDER_FUNCTION(name) \
	bool ct_render_##name(const struct ct_incident *incident, const struct ct_render_options *options, FILE *out, struct ct_error *err)

CT_RENDER_FUNCTION(text);
CT_RENDER_FUNCTION(json);
CT_RENDER_FUNCTION(html);
CT_RENDER_FUNCTION(markdown);
CT_RENDER_FUNCTION(junit);
CT_RENDER_FUNCTION(sarif);
CT_RENDER_FUNCTION(gitlab);
CT_RENDER_FUNCTION(github);

#endif
