// Prints the JSON of an incident with every member set, or of an empty one, for schema_check.py.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "full_incident.h"

int main(int argc, char **argv)
{
	bool empty = argc > 1 && strcmp(argv[1], "empty") == 0;
	CT_AUTO(ct_incident_auto) struct ct_incident *in = empty ? ct_incident_new() : ct_full_incident(CT_FAULT_HANG, CT_ENDING_ENDED_BY_US);
	struct ct_error err = CT_ERROR_INIT;
	if (ct_incident_write_json(in, stdout, &err))
		return 0;
	fprintf(stderr, "%s\n", err.text);
	return 1;
}
