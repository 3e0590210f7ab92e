# engine/tell.c: the system's log.
UNIT_TESTS += tests/unit/test_tell

if HAVE_CUNIT
tests_unit_test_tell_SOURCES = tests/unit/test_tell.c
tests_unit_test_tell_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_tell_LDADD = $(UNIT_LIBS)
endif
