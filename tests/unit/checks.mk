# Tests of the checks on tensors.
UNIT_TESTS += tests/unit/test_checks

if HAVE_CUNIT
tests_unit_test_checks_SOURCES = tests/unit/test_checks.c
tests_unit_test_checks_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_checks_LDADD = $(UNIT_LIBS)
endif
