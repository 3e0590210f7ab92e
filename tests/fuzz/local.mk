# tests/fuzz
include tests/fuzz/incident.mk
include tests/fuzz/hoststack.mk
include tests/fuzz/diagnose.mk
include tests/fuzz/cudagdb.mk
include tests/fuzz/gpucore.mk
include tests/fuzz/store.mk
include tests/fuzz/render.mk
