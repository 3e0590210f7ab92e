# store/, and the summaries and markers that it reads.
UNIT_TESTS += tests/unit/test_store

if HAVE_CUNIT
tests_unit_test_store_SOURCES = tests/unit/test_store.c
tests_unit_test_store_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_store_LDADD = $(UNIT_LIBS)
endif
