# tests/bench
include tests/bench/diagnose.mk
# tests/bench: built by name only (make tests/bench/NAME)
EXTRA_PROGRAMS =
include tests/bench/gpucore.mk
