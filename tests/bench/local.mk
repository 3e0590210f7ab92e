# tests/bench
include tests/bench/diagnose.mk
