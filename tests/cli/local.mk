# tests/cli
include tests/cli/hoststack.mk
