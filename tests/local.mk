# Tests, each folder beside the promise it keeps.
include tests/unit/local.mk
include tests/cli/local.mk
include tests/gdb/local.mk
include tests/gpu/local.mk
include tests/fuzz/local.mk
include tests/bench/local.mk
