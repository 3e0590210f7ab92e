# Small CUDA programs, one fault each, in three builds: release, -lineinfo, -g -G. Not part of `all`: nvcc takes its time.
CT_KERNELS = assert_blocks graph_assert hang illegal_address launch_configuration misaligned_address shared_range stack_overflow trap

NVCCFLAGS = -arch=native
CT_KERNEL_BINARIES = $(CT_KERNELS:%=kernels/%.rel) $(CT_KERNELS:%=kernels/%.line) $(CT_KERNELS:%=kernels/%.dbg)

EXTRA_DIST += kernels/kernel.h $(CT_KERNELS:%=kernels/%.cu)
MOSTLYCLEANFILES += $(CT_KERNEL_BINARIES)

SUFFIXES = .cu .rel .line .dbg
.cu.rel:
	$(AM_V_GEN)$(MKDIR_P) kernels && $(NVCC) $(NVCCFLAGS) -Xptxas --suppress-stack-size-warning -o $@ $<
.cu.line:
	$(AM_V_GEN)$(MKDIR_P) kernels && $(NVCC) $(NVCCFLAGS) -lineinfo -Xptxas --suppress-stack-size-warning -o $@ $<
.cu.dbg:
	$(AM_V_GEN)$(MKDIR_P) kernels && $(NVCC) $(NVCCFLAGS) -g -G -Xptxas --suppress-stack-size-warning -o $@ $<
$(CT_KERNEL_BINARIES): $(top_srcdir)/kernels/kernel.h

kernels: $(CT_KERNEL_BINARIES)
.PHONY: kernels
