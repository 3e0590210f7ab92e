# shell/: everything but the terminal, which tests/cli/test_shell.py has.
UNIT_TESTS += tests/unit/test_shell

if HAVE_CUNIT
tests_unit_test_shell_SOURCES = tests/unit/test_shell.c $(DUMP_SOURCES)
tests_unit_test_shell_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_shell_LDADD = $(UNIT_LIBS)
endif
