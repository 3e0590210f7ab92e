# The whole tool on real hardware; not part of `make check`.
TESTS += tests/gpu/test_recorded.py
EXTRA_DIST += tests/gpu/test_recorded.py tests/gpu/recorded

# Programs after field reports: what they left once is judged again.
check_PROGRAMS += tests/gpu/rediagnose
tests_gpu_rediagnose_SOURCES = tests/gpu/rediagnose.c
tests_gpu_rediagnose_LDADD = $(CT_LIBS)
TESTS += tests/gpu/test_field.py
# For assert_sites.py, which needs a libtorch_cuda.so and cuobjdump.
check_PROGRAMS += tests/gpu/list_asserts
tests_gpu_list_asserts_SOURCES = tests/gpu/list_asserts.c tests/tools/unloaded.c tests/tools/unloaded.h
tests_gpu_list_asserts_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/tools
tests_gpu_list_asserts_LDADD = $(CT_LIBS)
# For compare_sass.py, which needs nvdisasm.
check_PROGRAMS += tests/tools/list_effects
tests_tools_list_effects_SOURCES = tests/tools/list_effects.c tests/tools/unloaded.c tests/tools/unloaded.h
tests_tools_list_effects_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/tools
tests_tools_list_effects_LDADD = $(CT_LIBS)
EXTRA_DIST += tests/tools/compare_sass.py
EXTRA_DIST += tests/gpu/assert_sites.py
EXTRA_DIST += tests/gpu/test_field.py tests/gpu/field_table.py tests/gpu/field_reports.py tests/gpu/segmentation3d.py tests/gpu/field tests/gpu/recorded-field
EXTRA_DIST += doc/field-reports.md

EXTRA_DIST += tests/gpu/asserts.py tests/gpu/check_gpu.py tests/gpu/check_python.py tests/gpu/check_sessions.py tests/gpu/cross_entropy.py tests/gpu/launch_cases.py tests/gpu/own_ending.py tests/gpu/without_ptrace.py

check-gpu: all kernels
	$(AM_TESTS_ENVIRONMENT) $(PYTHON3) $(top_srcdir)/tests/gpu/check_gpu.py $(CHECK_GPU_FLAGS)
.PHONY: check-gpu
