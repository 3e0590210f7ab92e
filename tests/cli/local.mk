# tests/cli
include tests/cli/agent.mk
include tests/cli/hoststack.mk
include tests/cli/supervisor.mk
include tests/cli/launches.mk
include tests/cli/shell.mk

# The whole front-end, with stand-ins for the driver and for cuda-gdb.
TESTS += tests/cli/test_cudatrap.py tests/cli/test_nightly.py tests/cli/test_frontend_bad_days.py
EXTRA_DIST += tests/cli/frontend.py tests/cli/test_cudatrap.py tests/cli/test_nightly.py tests/cli/test_frontend_bad_days.py
