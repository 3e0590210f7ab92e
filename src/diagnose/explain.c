// What the parts of the incident say together: tensors, values, cause; see diagnose.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "diagnose/catalog.h"

void ct_explain(struct ct_incident *incident, const struct ct_catalog *catalog)
{
	const char *kernel = incident->gpu.has_kernel ? incident->gpu.kernel.name : NULL;
	const struct ct_catalog_row *row = NULL;
	struct ct_failed_value failed;
	size_t n_equal = 0;
	if (catalog)
		row = ct_catalog_match(catalog, &incident->assertion, kernel, &n_equal);
	ct_explain_pointers(incident);
	ct_explain_values(incident, catalog, row, &failed);
	if (row)
		ct_explain_cause(incident, row, &failed);
	if (n_equal > 1)
		ct_incident_add_note(incident, "The assert's text is that of %zu different checks: what it means was not established.", n_equal);
}
