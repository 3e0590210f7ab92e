# make tests/bench/gpucore && tests/bench/gpucore DUMP...
EXTRA_PROGRAMS += tests/bench/gpucore
tests_bench_gpucore_SOURCES = tests/bench/gpucore.c
tests_bench_gpucore_LDADD = $(CT_LIBS)
