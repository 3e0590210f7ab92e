// What the parts of the incident say together: tensors, values, cause; see diagnose.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "diagnose/catalog.h"

bool ct_explain_kernel_has(const struct ct_incident *in, const char *word)
{
	return in->gpu.has_kernel && in->gpu.kernel.name && strstr(in->gpu.kernel.name, word);
}

void ct_explain(struct ct_incident *incident, const struct ct_catalog *catalog)
{
	const char *kernel = incident->gpu.has_kernel ? incident->gpu.kernel.name : NULL;
	const struct ct_catalog_row *row = NULL;
	struct ct_failed_value failed;
	size_t n_equal = 0;
	if (catalog)
		row = ct_catalog_match(catalog, &incident->assertion, kernel, &n_equal);
	ct_explain_pointers(incident);
	ct_explain_address(incident);
	ct_explain_values(incident, catalog, row, &failed);
	size_t n_values = incident->n_values;
	bool unexplained = failed.unexplained, candidates = failed.candidates;
	ct_explain_evidence(incident, &failed);
	if (unexplained && !failed.text)
		ct_explain_no_value(incident, candidates || incident->n_values > n_values);
	ct_explain_cause(incident, catalog, row, &failed);
	const struct ct_failed_call *failed_call = &incident->launch.failed_call;
	const struct ct_call_cause *call = catalog && incident->kind == CT_FAULT_API_ERROR && failed_call->present ? ct_catalog_call(catalog, failed_call) : NULL;
	if (call && !row)
		ct_explain_call(incident, call);
	if (n_equal > 1)
		ct_incident_add_note(incident, "The assert's text is that of %zu different checks: what it means was not established.", n_equal);
}

void ct_explain_with(struct ct_incident *incident, const char *dir)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_catalog_auto) struct ct_catalog *catalog = NULL;
	if (!ct_catalog_open(dir, &catalog, &err))
		ct_incident_add_note(incident, "What the assert means was not looked up: %s%s%s.", err.text, err.hint[0] ? "; " : "", err.hint);
	ct_explain(incident, catalog);
}
