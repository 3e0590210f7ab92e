# Benchmarks: built by name only (make tests/bench/NAME), no part of the tests.
EXTRA_PROGRAMS =
include tests/bench/diagnose.mk
include tests/bench/gpucore.mk

# On a machine with a GPU and PyTorch.
EXTRA_DIST += tests/bench/bench_gpu.py tests/bench/train_loop.py tests/bench/train_mlp.py tests/bench/train_resnet50.py
bench-gpu: all
	$(AM_TESTS_ENVIRONMENT) $(PYTHON3) $(top_srcdir)/tests/bench/bench_gpu.py $(BENCH_GPU_FLAGS)
.PHONY: bench-gpu
include tests/bench/list.mk
include tests/bench/recorder.mk
