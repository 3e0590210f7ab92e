# render/ and report/: unit tests and the incidents they render.
UNIT_TESTS += tests/unit/test_render tests/unit/test_report

if HAVE_CUNIT
tests_unit_test_render_SOURCES = tests/unit/test_render.c
tests_unit_test_render_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_render_LDADD = $(UNIT_LIBS)

tests_unit_test_report_SOURCES = tests/unit/test_report.c
tests_unit_test_report_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_report_LDADD = $(UNIT_LIBS)
endif

EXTRA_DIST += tests/data/render
