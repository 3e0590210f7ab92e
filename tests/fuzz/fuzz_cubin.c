// Any bytes as a code image, after 8 bytes of PC. Seeds: 8 bytes of an address in it and a relocated image of a dump.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "cubin/cubin.h"
#include "limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const uint8_t *data, size_t size)
{
	CT_AUTO(ct_cubin_auto) struct ct_cubin *cubin = NULL;
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin_function function;
	struct ct_cubin_params params;
	struct ct_cubin_line *lines;
	struct ct_cubin_assert assertion;
	uint64_t pc;
	size_t n;
	const char **types;
	if (size < sizeof pc || !ct_cubin_open(data + sizeof pc, size - sizeof pc, &cubin, NULL))
		return;
	memcpy(&pc, data, sizeof pc);
	if (ct_cubin_function_at(cubin, pc, &function))
		ct_cubin_param_types(&arena, ct_cubin_demangle(&arena, function.symbol, NULL), &types, &n);
	if (ct_cubin_kernel_at(cubin, pc, &function))
		ct_cubin_params(cubin, &function, &arena, &params, NULL);
	ct_cubin_lines_at(cubin, pc, &arena, &lines, &n);
	ct_cubin_is_trap_return(cubin, pc);
	ct_cubin_assert_at(cubin, pc, NULL, NULL, &arena, &assertion, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ct_fuzz_limits_begin();
	use(data, size);
	ct_fuzz_limits_end(size);
	return 0;
}
