// Any bytes as an incident: refused, or read, written and read again to the same text.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "incident/incident.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *write_text(const struct ct_incident *incident, size_t *ret_length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_length);
	if (!out || !ct_incident_write_json(incident, out, NULL))
		abort();
	fclose(out);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *first = NULL, *again = NULL;
	CT_AUTO(ct_incident_auto) struct ct_incident *parts = ct_incident_new();
	struct ct_error err = CT_ERROR_INIT;
	ct_incident_read_gpu_json(parts, (const char *)data, size, &err);
	ct_incident_read_host_json(parts, (const char *)data, size, &err);
	if (!ct_incident_read_json((const char *)data, size, &first, &err))
		return 0;
	size_t n, m;
	CT_AUTO(ct_auto_free) char *text = write_text(first, &n);
	if (!ct_incident_read_json(text, n, &again, &err))
		abort();
	CT_AUTO(ct_auto_free) char *second = write_text(again, &m);
	if (n != m || memcmp(text, second, n) != 0 || strcmp(ct_incident_signature(first), ct_incident_signature(again)) != 0)
		abort();
	return 0;
}
