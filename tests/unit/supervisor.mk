# supervisor/
UNIT_TESTS += tests/unit/test_supervisor
tests_unit_test_supervisor_SOURCES = tests/unit/test_supervisor.c
tests_unit_test_supervisor_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_supervisor_LDADD = $(UNIT_LIBS)
