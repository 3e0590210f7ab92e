// The runner shared by all unit tests: one suite a program, a TAP line a test.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_UNIT_H
#define CT_UNIT_H

#include <CUnit/CUnit.h>

// Runs the tests of the table (ends with CU_TEST_INFO_NULL); returns main()'s status.
int ct_unit_run(const char *suite, const CU_TestInfo *tests);

#endif
