# tests/fuzz
include tests/fuzz/diagnose.mk
