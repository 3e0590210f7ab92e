# tests/fuzz
include tests/fuzz/incident.mk
include tests/fuzz/gpucore.mk
