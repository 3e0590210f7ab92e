# Any bytes as a record of launches.
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_recorder
tests_fuzz_fuzz_recorder_SOURCES = tests/fuzz/fuzz_recorder.c
tests_fuzz_fuzz_recorder_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_recorder_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_recorder_LDADD = $(CT_LIBS)
endif
