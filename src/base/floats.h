// The 16-bit floating formats of GPUs.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_FLOATS_H
#define CT_FLOATS_H

#include <stdint.h>

double ct_half_value(uint16_t bits);    // IEEE 754 binary16
double ct_bfloat_value(uint16_t bits);  // the upper half of a binary32

#endif
