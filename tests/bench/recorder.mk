# What the launch recorder adds to a launch: make bench-recorder, by hand. Built like the agent: without sanitizers.
check_PROGRAMS += tests/bench/recorder-loop.so
tests_bench_recorder_loop_so_SOURCES = tests/bench/recorder_loop.c
tests_bench_recorder_loop_so_CFLAGS = -std=c17 $(WARN_CFLAGS) -fPIC
tests_bench_recorder_loop_so_LDFLAGS = -shared
EXTRA_DIST += tests/bench/recorder.py

bench-recorder: libcudatrap-agent.so tests/bench/recorder-loop.so tests/cli/agent-libcuda.so
	$(PYTHON3) $(top_srcdir)/tests/bench/recorder.py .
.PHONY: bench-recorder
