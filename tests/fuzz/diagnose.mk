# Fuzz targets of diagnose/.
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_loglines
tests_fuzz_fuzz_loglines_SOURCES = tests/fuzz/fuzz_loglines.c
tests_fuzz_fuzz_loglines_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_loglines_LDADD = $(CT_LIBS)
endif
EXTRA_DIST += tests/fuzz/fuzz_loglines.c
