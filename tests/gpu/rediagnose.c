// Prints a stored incident as this version judges what was read then: conclusions are dropped and drawn again.
//   rediagnose DATA FILE
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <string.h>

#include "diagnose/diagnose.h"

// Locals were read; everything else in the list was concluded.
static void keep_locals(struct ct_incident *in)
{
	size_t kept = 0;
	for (size_t i = 0; i < in->n_values; i++) {
		const char *how = in->values[i].how;
		if (how && (ct_starts_with(how, "local of ") || ct_starts_with(how, "argument of ")))
			in->values[kept++] = in->values[i];
	}
	in->n_values = kept;
}

static bool again(const char *data, const char *path, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *in = NULL;
	if (!ct_read_file(path, CT_INCIDENT_MAX_BYTES, &text, err) || !ct_incident_read_json(ct_str_text(&text), text.length, &in, err))
		return false;
	keep_locals(in);
	in->causes = NULL;
	in->n_causes = 0;
	in->meaning = (struct ct_meaning){.present = false};
	in->notes = NULL;
	in->n_notes = 0;
	ct_diagnose(in);
	ct_explain_with(in, data);
	return ct_incident_write_json(in, stdout, err);
}

int main(int argc, char **argv)
{
	struct ct_error err = CT_ERROR_INIT;
	if (argc == 3 && again(argv[1], argv[2], &err))
		return 0;
	fprintf(stderr, "%s\n", argc == 3 ? err.text : "usage: rediagnose DATA FILE");
	return 1;
}
