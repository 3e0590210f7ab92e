# src/hoststack/ against living processes.
check_PROGRAMS += tests/cli/hoststack_dump
tests_cli_hoststack_dump_SOURCES = tests/cli/hoststack_dump.c
tests_cli_hoststack_dump_LDADD = $(CT_LIBS)

TESTS += tests/cli/hoststack.py
# hoststack_threads.cc is compiled by the test, as a release build is: without the flags of this build.
EXTRA_DIST += tests/cli/hoststack.py tests/cli/hoststack_target.py tests/cli/hoststack_threads.cc
