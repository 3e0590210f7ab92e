# Arguments of kernels, the assert catalogue, values.
UNIT_TESTS += tests/unit/test_arguments

if HAVE_CUNIT
tests_unit_test_arguments_SOURCES = tests/unit/test_arguments.c $(DUMP_SOURCES)
tests_unit_test_arguments_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_arguments_LDADD = $(UNIT_LIBS)
endif

EXTRA_DIST += tests/data/arguments/README.md tests/data/arguments/cases.tsv
