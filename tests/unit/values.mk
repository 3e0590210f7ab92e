# Arguments of kernels, the assert catalogue, values.
UNIT_TESTS += tests/unit/test_arguments tests/unit/test_catalog tests/unit/test_causes tests/unit/test_address

if HAVE_CUNIT
tests_unit_test_arguments_SOURCES = tests/unit/test_arguments.c $(DUMP_SOURCES)
tests_unit_test_arguments_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_arguments_LDADD = $(UNIT_LIBS)
tests_unit_test_catalog_SOURCES = tests/unit/test_catalog.c
tests_unit_test_catalog_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_catalog_LDADD = $(UNIT_LIBS)
tests_unit_test_causes_SOURCES = tests/unit/test_causes.c
tests_unit_test_causes_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_causes_LDADD = $(UNIT_LIBS)
tests_unit_test_address_SOURCES = tests/unit/test_address.c
tests_unit_test_address_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_address_LDADD = $(UNIT_LIBS)
endif

EXTRA_DIST += tests/data/arguments/README.md tests/data/arguments/cases.tsv
EXTRA_DIST += tests/data/catalog/README.md tests/data/catalog/lines.tsv
