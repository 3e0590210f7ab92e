// Reading cases, comparing with what they must become; see golden.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "golden.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "unit.h"

struct ct_incident *ct_golden_read(const char *name)
{
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	struct ct_incident *incident = NULL;
	char path[512];
	snprintf(path, sizeof path, "%s/%s/incident.json", RENDER_DATA, name);
	if (!ct_read_file(path, 1 << 20, &json, &err) || !ct_incident_read_json(ct_str_text(&json), json.length, &incident, &err))
		printf("# %s: %s\n", path, err.text);
	return incident;
}

static void print_first_difference(const char *path, const char *expected, const char *got)
{
	size_t line = 1, begin = 0;
	for (size_t i = 0; expected[i] && expected[i] == got[i]; i++) {
		if (expected[i] == '\n') {
			line++;
			begin = i + 1;
		}
	}
	printf("# %s:%zu\n# - %.*s\n# + %.*s\n", path, line, (int)strcspn(expected + begin, "\n"), expected + begin, (int)strcspn(got + begin, "\n"), got + begin);
}

void ct_golden_compare(const char *name, const char *file, const char *got)
{
	char path[512];
	CT_AUTO(ct_auto_str) struct ct_str expected = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	snprintf(path, sizeof path, "%s/%s/%s", RENDER_DATA, name, file);
	const char *update = getenv("UPDATE_GOLDEN");
	if (update && *update == '1') {
		FILE *out = fopen(path, "w");
		CU_ASSERT_PTR_NOT_NULL_FATAL(out);
		fputs(got, out);
		fclose(out);
		return;
	}
	if (!ct_read_file(path, 1 << 20, &expected, &err))
		printf("# %s\n", err.text);
	bool same = strcmp(ct_str_text(&expected), got) == 0;
	if (!same)
		print_first_difference(path, ct_str_text(&expected), got);
	CU_ASSERT_TRUE(same);
}
