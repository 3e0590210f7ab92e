# Tests of src/incident/.
UNIT_TESTS += tests/unit/test_incident tests/unit/test_incident_facts

if HAVE_CUNIT
tests_unit_test_incident_SOURCES = tests/unit/test_incident.c tests/unit/full_incident.c tests/unit/full_incident.h
tests_unit_test_incident_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_incident_LDADD = $(UNIT_LIBS)

tests_unit_test_incident_facts_SOURCES = tests/unit/test_incident_facts.c
tests_unit_test_incident_facts_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_incident_facts_LDADD = $(UNIT_LIBS)
endif

# Without CUnit too: schema_check.py needs it.
check_PROGRAMS += tests/unit/write_incident
tests_unit_write_incident_SOURCES = tests/unit/write_incident.c tests/unit/full_incident.c tests/unit/full_incident.h
tests_unit_write_incident_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_unit_write_incident_LDADD = $(CT_LIBS)

TESTS += tests/unit/schema_check.py
EXTRA_DIST += tests/unit/schema_check.py tests/data/incident/README.md tests/data/incident/gpu-part.json tests/data/incident/host-part.json
