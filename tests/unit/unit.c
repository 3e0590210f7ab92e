// CUnit's results as TAP, so that `make check` counts cases, not programs.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "unit.h"

#include <CUnit/TestRun.h>
#include <stdio.h>

static void report_test(const CU_pTest test, const CU_pSuite suite, const CU_pFailureRecord failure)
{
	static unsigned number;
	(void)suite;
	for (const CU_FailureRecord *f = failure; f; f = f->pNext)
		printf("# %s:%u: %s\n", f->strFileName, f->uiLineNumber, f->strCondition);
	printf("%s %u - %s\n", failure ? "not ok" : "ok", ++number, test->pName);
	fflush(stdout);
}

int ct_unit_run(const char *suite, const CU_TestInfo *tests)
{
	unsigned n = 0;
	while (tests[n].pName)
		n++;
	CU_SuiteInfo suites[] = {{.pName = suite, .pTests = (CU_TestInfo *)tests}, CU_SUITE_INFO_NULL};
	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS) {
		printf("Bail out! %s\n", CU_get_error_msg());
		return 99;
	}
	printf("1..%u\n", n);
	fflush(stdout);
	CU_set_test_complete_handler(report_test);
	CU_run_all_tests();
	unsigned failed = CU_get_number_of_tests_failed();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
