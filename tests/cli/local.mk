# tests/cli
include tests/cli/agent.mk
include tests/cli/hoststack.mk
include tests/cli/supervisor.mk
include tests/cli/launches.mk
include tests/cli/shell.mk

# The whole front-end, with stand-ins for the driver and for cuda-gdb.
TESTS += tests/cli/test_cudatrap.py tests/cli/test_nightly.py tests/cli/test_frontend_bad_days.py
TESTS += tests/cli/test_session.py
EXTRA_DIST += tests/cli/test_session.py
EXTRA_DIST += tests/cli/frontend.py tests/cli/test_cudatrap.py tests/cli/test_nightly.py tests/cli/test_frontend_bad_days.py

# The Python package, notebooks' kernels (where Jupyter is), and what nights of runs need.
TESTS += tests/cli/test_python.py tests/cli/test_frames.py tests/cli/test_jupyter.py tests/cli/test_operations.py
EXTRA_DIST += tests/cli/pyprogram.py tests/cli/test_python.py tests/cli/test_frames.py tests/cli/test_jupyter.py tests/cli/test_operations.py
