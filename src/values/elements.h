// Types of the elements of tensors, by the words of PyTorch, NumPy and the shell.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_ELEMENTS_H
#define CT_ELEMENTS_H

#include "gpucore/gpucore.h"

struct ct_element_type {
	const char *word;
	enum { CT_FORM_INTEGER, CT_FORM_HALF, CT_FORM_BFLOAT, CT_FORM_SINGLE, CT_FORM_DOUBLE } form;
	struct ct_integer_type type;  // size; of integers the sign, too
	int digits;  // that give a floating value back
};

const char *ct_element_word(const char *dtype);  // "int64" of "torch.int64"; "" of NULL
const struct ct_element_type *ct_element_type_of(const char *dtype);  // NULL: it is not known, or its elements are not looked into
double ct_element_float(const struct ct_element_type *element, const uint8_t *bytes);  // not of integers
const char *ct_element_float_text(struct ct_arena *arena, const struct ct_element_type *element, double value);

#endif
