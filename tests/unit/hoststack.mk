# Tests of src/hoststack/.
UNIT_TESTS += tests/unit/test_hoststack tests/unit/test_hoststack_process tests/unit/test_python_walk

if HAVE_CUNIT
tests_unit_test_hoststack_SOURCES = tests/unit/test_hoststack.c
tests_unit_test_hoststack_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_hoststack_LDADD = $(UNIT_LIBS)

tests_unit_test_hoststack_process_SOURCES = tests/unit/test_hoststack_process.c
tests_unit_test_hoststack_process_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_hoststack_process_LDADD = $(UNIT_LIBS)

tests_unit_test_python_walk_SOURCES = tests/unit/test_python_walk.c tests/unit/fake_python.h
tests_unit_test_python_walk_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_python_walk_LDADD = $(UNIT_LIBS)
endif
