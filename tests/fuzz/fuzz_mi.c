// Any bytes as a line of gdb's machine interface.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cudagdb/cudagdb_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_mi_record record;
	struct ct_error err = CT_ERROR_INIT;
	ct_mi_parse(&arena, (const char *)data, size, &record, &err);
	return 0;
}
