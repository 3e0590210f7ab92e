# Tests of src/hoststack/.
UNIT_TESTS += tests/unit/test_python_walk

if HAVE_CUNIT

tests_unit_test_python_walk_SOURCES = tests/unit/test_python_walk.c tests/unit/fake_python.h
tests_unit_test_python_walk_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_python_walk_LDADD = $(UNIT_LIBS)
endif
