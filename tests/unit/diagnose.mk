# Tests of diagnose/.
EXTRA_DIST += tests/data/assert-lines/README tests/data/assert-lines/cases.jsonl
UNIT_TESTS += tests/unit/test_assertline tests/unit/test_loglines tests/unit/test_waiting tests/unit/test_diagnose

if HAVE_CUNIT
tests_unit_test_assertline_SOURCES = tests/unit/test_assertline.c tests/unit/assertcases.h
tests_unit_test_assertline_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_assertline_LDADD = $(UNIT_LIBS)
tests_unit_test_loglines_SOURCES = tests/unit/test_loglines.c tests/unit/lines.h tests/unit/assertcases.h
tests_unit_test_loglines_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_loglines_LDADD = $(UNIT_LIBS)
tests_unit_test_waiting_SOURCES = tests/unit/test_waiting.c tests/unit/lines.h tests/unit/assertcases.h
tests_unit_test_waiting_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_waiting_LDADD = $(UNIT_LIBS)
tests_unit_test_diagnose_SOURCES = tests/unit/test_diagnose.c
tests_unit_test_diagnose_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_diagnose_LDADD = $(UNIT_LIBS)
endif
