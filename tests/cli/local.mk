# tests/cli
include tests/cli/agent.mk
include tests/cli/hoststack.mk
include tests/cli/supervisor.mk
