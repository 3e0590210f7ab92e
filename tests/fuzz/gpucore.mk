# Any bytes as a GPU core dump, as a code image, as a kernel's arguments and memory. `make fuzz-seeds` writes what to start from into tests/fuzz/seeds.d.
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_gpucore tests/fuzz/fuzz_cubin tests/fuzz/fuzz_values
tests_fuzz_fuzz_gpucore_SOURCES = tests/fuzz/fuzz_gpucore.c tests/fuzz/limits.c tests/fuzz/limits.h
tests_fuzz_fuzz_gpucore_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_gpucore_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_gpucore_LDADD = $(CT_LIBS)
tests_fuzz_fuzz_cubin_SOURCES = tests/fuzz/fuzz_cubin.c tests/fuzz/limits.c tests/fuzz/limits.h
tests_fuzz_fuzz_cubin_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_cubin_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_cubin_LDADD = $(CT_LIBS)
tests_fuzz_fuzz_values_SOURCES = tests/fuzz/fuzz_values.c tests/fuzz/limits.c tests/fuzz/limits.h
tests_fuzz_fuzz_values_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_values_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_values_LDADD = $(CT_LIBS)
endif

# The inputs that fuzzing has found worth keeping, without a fuzzer: part of the tests, under sanitizers too.
check_PROGRAMS += tests/fuzz/replay_gpucore tests/fuzz/replay_cubin tests/fuzz/replay_values tests/fuzz/seeds
tests_fuzz_replay_gpucore_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_gpucore.c tests/fuzz/limits.c tests/fuzz/limits.h
tests_fuzz_replay_gpucore_LDADD = $(CT_LIBS)
tests_fuzz_replay_cubin_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_cubin.c tests/fuzz/limits.c tests/fuzz/limits.h
tests_fuzz_replay_cubin_LDADD = $(CT_LIBS)
tests_fuzz_replay_values_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_values.c tests/fuzz/limits.c tests/fuzz/limits.h
tests_fuzz_replay_values_LDADD = $(CT_LIBS)
tests_fuzz_seeds_SOURCES = tests/fuzz/seeds.c tests/unit/dumps.c tests/unit/forge.c
tests_fuzz_seeds_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit -DCT_TEST_DATA='"$(abs_top_srcdir)/tests/data"'
tests_fuzz_seeds_LDADD = $(CT_LIBS) -llzma
TESTS += tests/fuzz/test_corpus.py
EXTRA_DIST += tests/fuzz/test_corpus.py tests/fuzz/corpus-gpucore.tar.xz tests/fuzz/corpus-cubin.tar.xz tests/fuzz/corpus-values.tar.xz

fuzz-seeds: tests/fuzz/seeds$(EXEEXT)
	$(MKDIR_P) tests/fuzz/seeds.d && tests/fuzz/seeds tests/fuzz/seeds.d
.PHONY: fuzz-seeds
