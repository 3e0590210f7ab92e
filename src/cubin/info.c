// Kernel parameters from .nv.info.<kernel>: records of format, attribute, value (ptxas 12.4 and 13.0 write them alike).
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"

enum {
	FORMAT_SIZED = 4,  // u16 length, then that many bytes; formats 1, 2 and 3 have a 2-byte value
	ATTR_PARAM_CBANK = 0x0a,        // u32 symbol, u16 offset in bank 0, u16 total
	ATTR_KPARAM_INFO = 0x17,        // u32 index, u16 ordinal, u16 offset, u32 bits: size from bit 18
	ATTR_CBANK_PARAM_SIZE = 0x19,   // u16 total
	ATTR_KPARAM_INFO_V2 = 0x45,     // u32 index, u16 ordinal, u16 offset, u16 size, u16 flags: where the old form's 14 bits do not reach
	MAX_PARAMS = 4096,              // a kernel's parameters are 32,764 bytes at most (CUDA C++ guide, 12.1 and later)
};

static uint32_t le16(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t le32(const uint8_t *p)
{
	return le16(p) | le16(p + 2) << 16;
}

static void take_record(uint8_t attr, const uint8_t *value, size_t length, struct ct_arena *arena, struct ct_cubin_params *params)
{
	if ((attr == ATTR_KPARAM_INFO || attr == ATTR_KPARAM_INFO_V2) && length >= 12 && params->n_rows < MAX_PARAMS) {
		params->rows = ct_arena_grow(arena, params->rows, &params->n_rows, sizeof *params->rows);
		struct ct_cubin_param *row = &params->rows[params->n_rows - 1];
		row->ordinal = le16(value + 4);
		row->offset = le16(value + 6);
		row->size_bytes = attr == ATTR_KPARAM_INFO ? le32(value + 8) >> 18 : le16(value + 8);
	} else if (attr == ATTR_CBANK_PARAM_SIZE && length >= 2) {
		params->has_total = true;
		params->total_bytes = le16(value);
	} else if (attr == ATTR_PARAM_CBANK && length >= 8) {
		params->has_bank_offset = true;
		params->bank_offset = le16(value + 4);
		if (!params->has_total) {
			params->has_total = true;
			params->total_bytes = le16(value + 6);
		}
	}
}

static int by_ordinal(const void *a, const void *b)
{
	const struct ct_cubin_param *x = a, *y = b;
	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

bool ct_cubin_params(const struct ct_cubin *c, const struct ct_cubin_function *kernel, struct ct_arena *arena, struct ct_cubin_params *ret_params,
		     struct ct_error *err)
{
	size_t info = 0;
	for (size_t i = 1; i < c->n_sections && !info; i++)
		if (c->sections[i].sh_type == CT_SHT_NV_INFO && c->sections[i].sh_info == kernel->section)
			info = i;
	if (!info)
		return ct_fail(err, CT_UNAVAILABLE, "the image describes no parameters of %.200s", kernel->symbol);
	struct ct_cubin_params params = {0};
	const uint8_t *p = c->bytes + c->sections[info].sh_offset, *end = p + c->sections[info].sh_size;
	while (end - p >= 4) {
		uint8_t format = p[0], attr = p[1];
		size_t length = format == FORMAT_SIZED ? le16(p + 2) : 2;
		const uint8_t *value = format == FORMAT_SIZED ? p + 4 : p + 2;
		if (format == 0 || format > FORMAT_SIZED || length > (size_t)(end - value))
			return ct_fail(err, CT_FORMAT, "parameter records of %.200s are damaged", kernel->symbol);
		take_record(attr, value, length, arena, &params);
		p = value + length;
	}
	if (params.n_rows > 1)
		qsort(params.rows, params.n_rows, sizeof *params.rows, by_ordinal);
	*ret_params = params;
	return true;
}
