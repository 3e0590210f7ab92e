# Tests of src/matching/.
UNIT_TESTS += tests/unit/test_matching

if HAVE_CUNIT
tests_unit_test_matching_SOURCES = tests/unit/test_matching.c tests/unit/records.c tests/unit/records.h
tests_unit_test_matching_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_matching_LDADD = $(UNIT_LIBS)
endif
