# tests/fuzz
include tests/fuzz/incident.mk
