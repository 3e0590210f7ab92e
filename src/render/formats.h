// One function a format; the table in render.c is the list. Private to render/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_FORMATS_H
#define CT_RENDER_FORMATS_H

#include "render/render.h"

bool ct_render_text(const struct ct_incident *incident, const struct ct_render_options *options, FILE *out, struct ct_error *err);
bool ct_render_json(const struct ct_incident *incident, const struct ct_render_options *options, FILE *out, struct ct_error *err);

#endif
