# Tests of src/cudagdb/ with cuda-gdbs that are shell scripts.
UNIT_TESTS += tests/unit/test_cudagdb

if HAVE_CUNIT
tests_unit_test_cudagdb_SOURCES = tests/unit/test_cudagdb.c
tests_unit_test_cudagdb_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cudagdb_LDADD = $(UNIT_LIBS)
endif
