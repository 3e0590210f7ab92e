// See floats.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/floats.h"

#include <math.h>
#include <string.h>

double ct_half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	double fraction = bits & 1023, v;
	if (exponent == 31)
		v = fraction != 0 ? (double)NAN : (double)INFINITY;
	else
		v = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
	return bits >> 15 ? -v : v;
}

double ct_bfloat_value(uint16_t bits)
{
	uint32_t word = (uint32_t)bits << 16;
	float f;
	memcpy(&f, &word, sizeof f);
	return (double)f;
}
