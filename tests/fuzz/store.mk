# Any bytes as a summary, a marker, a file of known faults.
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_store
tests_fuzz_fuzz_store_SOURCES = tests/fuzz/fuzz_store.c
tests_fuzz_fuzz_store_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_store_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_store_LDADD = $(CT_LIBS)
endif
