# Any bytes as a GPU core dump, as a code image.
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_gpucore tests/fuzz/fuzz_cubin
tests_fuzz_fuzz_gpucore_SOURCES = tests/fuzz/fuzz_gpucore.c
tests_fuzz_fuzz_gpucore_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_gpucore_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_gpucore_LDADD = $(CT_LIBS)
tests_fuzz_fuzz_cubin_SOURCES = tests/fuzz/fuzz_cubin.c
tests_fuzz_fuzz_cubin_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_cubin_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_cubin_LDADD = $(CT_LIBS)
endif
