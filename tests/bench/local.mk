# Benchmarks: built by name only (make tests/bench/NAME), no part of the tests.
EXTRA_PROGRAMS =
include tests/bench/diagnose.mk
include tests/bench/gpucore.mk
include tests/bench/list.mk
