// See elements.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "values/elements.h"

#include <math.h>
#include <string.h>

static const struct ct_element_type elements[] = {
	{"uint8", CT_FORM_INTEGER, {.size = 1}, 0}, {"u8", CT_FORM_INTEGER, {.size = 1}, 0}, {"byte", CT_FORM_INTEGER, {.size = 1}, 0},
	{"int8", CT_FORM_INTEGER, {.size = 1, .is_signed = true}, 0}, {"i8", CT_FORM_INTEGER, {.size = 1, .is_signed = true}, 0}, {"char", CT_FORM_INTEGER, {.size = 1, .is_signed = true}, 0},
	{"uint16", CT_FORM_INTEGER, {.size = 2}, 0}, {"u16", CT_FORM_INTEGER, {.size = 2}, 0},
	{"int16", CT_FORM_INTEGER, {.size = 2, .is_signed = true}, 0}, {"i16", CT_FORM_INTEGER, {.size = 2, .is_signed = true}, 0}, {"short", CT_FORM_INTEGER, {.size = 2, .is_signed = true}, 0},
	{"uint32", CT_FORM_INTEGER, {.size = 4}, 0}, {"u32", CT_FORM_INTEGER, {.size = 4}, 0},
	{"int32", CT_FORM_INTEGER, {.size = 4, .is_signed = true}, 0}, {"i32", CT_FORM_INTEGER, {.size = 4, .is_signed = true}, 0}, {"int", CT_FORM_INTEGER, {.size = 4, .is_signed = true}, 0},
	{"uint64", CT_FORM_INTEGER, {.size = 8}, 0}, {"u64", CT_FORM_INTEGER, {.size = 8}, 0},
	{"int64", CT_FORM_INTEGER, {.size = 8, .is_signed = true}, 0}, {"i64", CT_FORM_INTEGER, {.size = 8, .is_signed = true}, 0}, {"long", CT_FORM_INTEGER, {.size = 8, .is_signed = true}, 0},
	{"float16", CT_FORM_HALF, {.size = 2}, 5}, {"f16", CT_FORM_HALF, {.size = 2}, 5}, {"half", CT_FORM_HALF, {.size = 2}, 5}, {"bfloat16", CT_FORM_BFLOAT, {.size = 2}, 4}, {"bf16", CT_FORM_BFLOAT, {.size = 2}, 4},
	{"float32", CT_FORM_SINGLE, {.size = 4}, 9}, {"f32", CT_FORM_SINGLE, {.size = 4}, 9}, {"float", CT_FORM_SINGLE, {.size = 4}, 9},
	{"float64", CT_FORM_DOUBLE, {.size = 8}, 17}, {"f64", CT_FORM_DOUBLE, {.size = 8}, 17}, {"double", CT_FORM_DOUBLE, {.size = 8}, 17},
};

const char *ct_element_word(const char *dtype)
{
	const char *dot = dtype ? strrchr(dtype, '.') : NULL;
	return dot ? dot + 1 : dtype ? dtype : "";
}

const struct ct_element_type *ct_element_type_of(const char *dtype)
{
	for (size_t i = 0; i < CT_COUNT(elements); i++)
		if (strcmp(elements[i].word, ct_element_word(dtype)) == 0)
			return &elements[i];
	return NULL;
}

double ct_element_float(const struct ct_element_type *e, const uint8_t *bytes)
{
	uint16_t half;
	float single;
	double value = 0;
	if (e->form == CT_FORM_DOUBLE) {
		memcpy(&value, bytes, sizeof value);
		return value;
	}
	if (e->form == CT_FORM_SINGLE) {
		memcpy(&single, bytes, sizeof single);
		return (double)single;
	}
	memcpy(&half, bytes, sizeof half);
	return e->form == CT_FORM_HALF ? ct_half_value(half) : ct_bfloat_value(half);
}

const char *ct_element_float_text(struct ct_arena *arena, const struct ct_element_type *e, double value)
{
	if (isnan(value))
		return "NaN";
	if (isinf(value))
		return value > 0 ? "Inf" : "-Inf";
	return ct_arena_printf(arena, "%.*g", e->digits, value);
}
