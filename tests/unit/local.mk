# Unit tests: a CUnit program a module; tests/unit/unit.c turns CUnit's results into TAP.
UNIT_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit $(CUNIT_CFLAGS) -DCT_TEST_DATA='"$(abs_top_srcdir)/tests/data"'
UNIT_LIBS = libcudatrap-unit.a $(CT_LIBS) $(CUNIT_LIBS)

UNIT_TESTS = tests/unit/test_base
include tests/unit/agent.mk

include tests/unit/supervisor.mk

if HAVE_CUNIT
check_LIBRARIES += libcudatrap-unit.a
libcudatrap_unit_a_SOURCES = tests/unit/unit.c tests/unit/unit.h
libcudatrap_unit_a_CPPFLAGS = $(UNIT_CPPFLAGS)

tests_unit_test_base_SOURCES = tests/unit/test_base.c
tests_unit_test_base_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_base_LDADD = $(UNIT_LIBS)

check_PROGRAMS += $(UNIT_TESTS)
endif

TESTS += $(UNIT_TESTS)

include tests/unit/incident.mk
include tests/unit/render.mk
include tests/unit/hoststack.mk
include tests/unit/recorder.mk
include tests/unit/diagnose.mk
include tests/unit/cudagdb.mk
include tests/unit/gpucore.mk
include tests/unit/store.mk
include tests/unit/values.mk
include tests/unit/checks.mk
include tests/unit/matching.mk
include tests/unit/shell.mk
include tests/unit/tell.mk
