// An incident with every member set, for the tests of incident/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_FULL_INCIDENT_H
#define CT_FULL_INCIDENT_H

#include "incident/incident.h"

// The caller's. Uses every word of every enum but the fault's kind and the ending's, of which there is one an incident.
struct ct_incident *ct_full_incident(enum ct_fault_kind kind, enum ct_ending_kind ending);

// The JSON text of the incident, to be freed with free(); NULL when it could not be written.
char *ct_incident_text(const struct ct_incident *incident, struct ct_error *err);

#endif
