# Any bytes as an incident. Seeds: tests/data/incident/.
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_incident
tests_fuzz_fuzz_incident_SOURCES = tests/fuzz/fuzz_incident.c
tests_fuzz_fuzz_incident_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_incident_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_incident_LDADD = $(CT_LIBS)
endif
