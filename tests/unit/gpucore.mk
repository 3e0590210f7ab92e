# GPU core dumps and code images.
UNIT_TESTS += tests/unit/test_gpucore tests/unit/test_gpucore_hostile tests/unit/test_cubin tests/unit/test_cubin_archs
DUMP_SOURCES = tests/unit/dumps.c tests/unit/dumps.h tests/unit/forge.c tests/unit/forge.h

if HAVE_CUNIT
tests_unit_test_gpucore_SOURCES = tests/unit/test_gpucore.c $(DUMP_SOURCES)
tests_unit_test_gpucore_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_gpucore_LDADD = $(UNIT_LIBS)

tests_unit_test_gpucore_hostile_SOURCES = tests/unit/test_gpucore_hostile.c $(DUMP_SOURCES)
tests_unit_test_gpucore_hostile_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_gpucore_hostile_LDADD = $(UNIT_LIBS)

tests_unit_test_cubin_SOURCES = tests/unit/test_cubin.c $(DUMP_SOURCES)
tests_unit_test_cubin_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cubin_LDADD = $(UNIT_LIBS)

tests_unit_test_cubin_archs_SOURCES = tests/unit/test_cubin_archs.c tests/tools/unloaded.c tests/tools/unloaded.h $(DUMP_SOURCES)
tests_unit_test_cubin_archs_CPPFLAGS = $(UNIT_CPPFLAGS) -I$(top_srcdir)/tests/tools
tests_unit_test_cubin_archs_LDADD = $(UNIT_LIBS)
endif

DECODED_SM = 75 80 86 87 88 89 90 100 103 110 120 121
EXTRA_DIST += tests/data/cubin/asserts.cu $(DECODED_SM:%=tests/data/cubin/asserts.sm_%.cubin.xz) $(DECODED_SM:%=tests/data/cubin/asserts-dbg.sm_%.cubin.xz)
EXTRA_DIST += tests/data/cubin/README.md tests/data/cubin/inline.cu tests/data/cubin/inline.cubin \
	tests/data/cubin/layout.cu tests/data/cubin/layout.cubin tests/data/cubin/layout-12.4.cubin \
	tests/data/gpu-cores/README.md tests/data/gpu-cores/faults.cu tests/data/gpu-cores/ce.py \
	tests/data/gpu-cores/reader
EXTRA_DIST += tests/data/gpu-cores/address.dbg.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/address.line.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/address.rel.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/assert.dbg.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/assert.line.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/assert.rel.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/graph.rel.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/many.rel.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/misaligned.rel.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/shared.rel.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/spin.line.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/stack.dbg.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/stack.line.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/stack.rel.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/torch-cross-entropy-sm90.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/trap.rel.nvcore.xz
EXTRA_DIST += tests/data/gpu-cores/truncated.nvcore.xz
