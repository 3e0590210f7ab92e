# make tests/bench/gpucore && tests/bench/gpucore DUMP...
EXTRA_PROGRAMS += tests/bench/gpucore
tests_bench_gpucore_SOURCES = tests/bench/gpucore.c
tests_bench_gpucore_LDADD = $(CT_LIBS)

# What tests and benchmarks need of tools of their own.
check_PROGRAMS += tests/tools/grow_dump
tests_tools_grow_dump_SOURCES = tests/tools/grow_dump.c
EXTRA_DIST += tests/bench/dumps.py

bench-dumps: cudatrap$(EXEEXT) tests/bench/gpucore$(EXEEXT) tests/tools/grow_dump$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) $(PYTHON3) $(top_srcdir)/tests/bench/dumps.py $(BENCH_DUMPS_FLAGS)
.PHONY: bench-dumps
