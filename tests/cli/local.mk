# tests/cli
include tests/cli/supervisor.mk
