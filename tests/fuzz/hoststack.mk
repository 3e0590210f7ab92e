# Any bytes as the memory of a Python process.
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_python_walk
tests_fuzz_fuzz_python_walk_SOURCES = tests/fuzz/fuzz_python_walk.c
tests_fuzz_fuzz_python_walk_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_python_walk_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_python_walk_LDADD = $(CT_LIBS)
endif
