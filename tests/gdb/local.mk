# The scripts under a real cuda-gdb and without one, and the C side that runs them.
check_PROGRAMS += tests/gdb/drive tests/gdb/host
tests_gdb_drive_SOURCES = tests/gdb/drive.c
tests_gdb_drive_LDADD = $(CT_LIBS)
tests_gdb_host_SOURCES = tests/gdb/host.c
# Without sanitizers: the leak checker does not work in a program that is being debugged.
tests_gdb_host_CFLAGS = -std=c17 $(WARN_CFLAGS)

TESTS += tests/gdb/test_model.py tests/gdb/test_live.py tests/gdb/test_dumps.py tests/gdb/test_parity.py
EXTRA_DIST += tests/gdb/tap.py tests/gdb/test_parity.py tests/gdb/test_model.py tests/gdb/test_live.py tests/gdb/test_dumps.py

TESTS += tests/gdb/test_commands.py
EXTRA_DIST += tests/gdb/test_commands.py tests/data/gdb-commands

GPU_CORES = address.dbg address.line address.rel assert.dbg assert.line assert.rel graph.rel many.rel misaligned.rel shared.rel spin.line \
	stack.dbg stack.line stack.rel torch-cross-entropy-sm90 trap.rel
EXTRA_DIST += $(GPU_CORES:%=tests/data/gpu-cores/%.nvcore.xz) $(GPU_CORES:%=tests/data/gpu-cores/expected/%.gpu.json) \
	tests/data/gpu-cores/expected/README.md tests/data/gpu-cores/truncated.nvcore.xz tests/data/gpu-cores/README.md \
	tests/data/gpu-cores/faults.cu tests/data/gpu-cores/ce.py

# Our own readers of device memory on the scripts' cases.
check_PROGRAMS += tests/gdb/read_values
tests_gdb_read_values_SOURCES = tests/gdb/read_values.c
tests_gdb_read_values_LDADD = $(CT_LIBS)
TESTS += tests/gdb/test_values_parity.py
EXTRA_DIST += tests/gdb/test_values_parity.py

TESTS += tests/gdb/test_access.py tests/gdb/test_values.py tests/gdb/test_evidence.py tests/gdb/test_image.py
EXTRA_DIST += tests/gdb/test_access.py tests/gdb/test_values.py tests/gdb/test_evidence.py tests/gdb/test_image.py

TESTS += tests/gdb/test_kernel_dumps.py tests/gdb/test_memory_dumps.py
EXTRA_DIST += tests/gdb/test_kernel_dumps.py tests/tools/cut_dump.py tests/data/kernel-dumps
EXTRA_DIST += tests/gdb/test_memory_dumps.py tests/tools/add_memory.py

# types.cc is compiled by the test: it wants debug information whatever the flags of this build.
TESTS += tests/gdb/test_printers.py tests/gdb/test_shapes.py tests/gdb/test_interactive.py
EXTRA_DIST += tests/gdb/test_printers.py tests/gdb/types.cc tests/gdb/test_shapes.py tests/gdb/test_interactive.py
