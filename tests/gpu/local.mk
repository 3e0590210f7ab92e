# The whole tool on real hardware; not part of `make check`.
TESTS += tests/gpu/test_recorded.py
EXTRA_DIST += tests/gpu/test_recorded.py tests/gpu/recorded
EXTRA_DIST += tests/gpu/asserts.py tests/gpu/check_gpu.py tests/gpu/check_python.py tests/gpu/check_sessions.py tests/gpu/cross_entropy.py tests/gpu/launch_cases.py tests/gpu/own_ending.py tests/gpu/without_ptrace.py

check-gpu: all kernels
	$(AM_TESTS_ENVIRONMENT) $(PYTHON3) $(top_srcdir)/tests/gpu/check_gpu.py $(CHECK_GPU_FLAGS)
.PHONY: check-gpu
