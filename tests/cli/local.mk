# tests/cli
include tests/cli/agent.mk
