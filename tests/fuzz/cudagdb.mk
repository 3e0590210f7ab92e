# Any bytes as a line of gdb's machine interface.
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_mi
tests_fuzz_fuzz_mi_SOURCES = tests/fuzz/fuzz_mi.c
tests_fuzz_fuzz_mi_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_mi_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_mi_LDADD = $(CT_LIBS)
endif
