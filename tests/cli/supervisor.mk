# The supervisor alone, and a program that misbehaves for it. fakecuda is a plain shared library, never sanitized: it
# is loaded into programs that are not either.
check_PROGRAMS += tests/cli/supervise tests/cli/fakeapp tests/cli/libfakecuda.so

tests_cli_supervise_SOURCES = tests/cli/supervise.c
tests_cli_supervise_LDADD = $(CT_LIBS)

tests_cli_libfakecuda_so_SOURCES = tests/cli/fakecuda.c tests/cli/fakecuda.h
tests_cli_libfakecuda_so_CFLAGS = -std=c17 $(WARN_CFLAGS) -fPIC
tests_cli_libfakecuda_so_LDFLAGS = -shared -Wl,-soname,libfakecuda.so

tests_cli_fakeapp_SOURCES = tests/cli/fakeapp.c tests/cli/fakecuda.h
tests_cli_fakeapp_CFLAGS = -std=c17 $(WARN_CFLAGS)
tests_cli_fakeapp_LDFLAGS = -Wl,-rpath,'$$ORIGIN'
tests_cli_fakeapp_LDADD = tests/cli/libfakecuda.so
tests_cli_fakeapp_DEPENDENCIES = tests/cli/libfakecuda.so

TESTS += tests/cli/test_supervisor.py
EXTRA_DIST += tests/cli/harness.py tests/cli/test_supervisor.py
