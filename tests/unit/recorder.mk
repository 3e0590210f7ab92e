# Tests of src/recorder/.
UNIT_TESTS += tests/unit/test_recorder
if HAVE_CUNIT
tests_unit_test_recorder_SOURCES = tests/unit/test_recorder.c
tests_unit_test_recorder_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recorder_LDADD = $(UNIT_LIBS)
endif
