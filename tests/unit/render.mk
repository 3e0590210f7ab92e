# render/ and report/: unit tests and the incidents they render.
UNIT_TESTS += tests/unit/test_render tests/unit/test_formats tests/unit/test_grid tests/unit/test_report

if HAVE_CUNIT
tests_unit_test_render_SOURCES = tests/unit/test_render.c tests/unit/golden.c tests/unit/golden.h
tests_unit_test_render_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_render_LDADD = $(UNIT_LIBS)

tests_unit_test_formats_SOURCES = tests/unit/test_formats.c tests/unit/golden.c tests/unit/golden.h
tests_unit_test_formats_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_formats_LDADD = $(UNIT_LIBS)

tests_unit_test_grid_SOURCES = tests/unit/test_grid.c
tests_unit_test_grid_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_grid_LDADD = $(UNIT_LIBS)

tests_unit_test_report_SOURCES = tests/unit/test_report.c
tests_unit_test_report_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_report_LDADD = $(UNIT_LIBS)
endif

TESTS += tests/cli/formats.py
EXTRA_DIST += tests/data/render tests/cli/formats.py tests/cli/formats_html.py tests/cli/formats_rules.py
