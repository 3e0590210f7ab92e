// Recorded incidents and the texts that they must become: tests/data/render/CASE/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_TESTS_GOLDEN_H
#define CT_TESTS_GOLDEN_H

#include "incident/incident.h"

#define RENDER_DATA CT_TEST_DATA "/render"

struct ct_incident *ct_golden_read(const char *name);  // NULL, and a line that says why
// Asserts that got is what the file of the case holds; UPDATE_GOLDEN=1 writes the file instead.
void ct_golden_compare(const char *name, const char *file, const char *got);

#endif
