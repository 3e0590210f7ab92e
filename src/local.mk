# Everything but main() is in one library: program, tests and fuzzers link the same objects.
noinst_LIBRARIES += libcudatrap.a
libcudatrap_a_SOURCES =

bin_PROGRAMS += cudatrap
cudatrap_SOURCES = src/main.c
cudatrap_LDADD = $(CT_LIBS)

include src/base/local.mk
include src/incident/local.mk
include src/cli/local.mk
include src/commands/local.mk
include src/supervisor/local.mk
include src/engine/local.mk
include src/collect/local.mk
include src/matching/local.mk
include src/cudagdb/local.mk
include src/gpucore/local.mk
include src/rules/local.mk
include src/values/local.mk
include src/cubin/local.mk
include src/pylayout/local.mk
include src/hoststack/local.mk
include src/recorder/local.mk
include src/agent/local.mk
include src/diagnose/local.mk
include src/render/local.mk
include src/report/local.mk
include src/store/local.mk
include src/shell/local.mk
