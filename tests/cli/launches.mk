# The record of launches in whole runs of the front-end.
check_PROGRAMS += tests/cli/recordapp
tests_cli_recordapp_SOURCES = tests/cli/recordapp.c tests/unit/records.c tests/unit/records.h
tests_cli_recordapp_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_cli_recordapp_LDADD = $(CT_LIBS)

TESTS += tests/cli/test_launches.py
EXTRA_DIST += tests/cli/test_launches.py
