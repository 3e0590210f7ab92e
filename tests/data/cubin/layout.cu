// SPDX-License-Identifier: GPL-3.0-or-later
// Asserts whose texts have the same lengths: only the layout of the constants tells them apart.
#include <cassert>
__global__ void kernel_0(const int *p)
{
	assert(p[10] != 100);
	assert(p[11] != 101);
	assert(p[12] != 102);
	assert(p[13] != 103);
}
__global__ void kernel_1(const int *p)
{
	assert(p[14] != 104);
	assert(p[15] != 105);
	assert(p[16] != 106);
	assert(p[17] != 107);
}
__global__ void kernel_2(const int *p)
{
	assert(p[18] != 108);
	assert(p[19] != 109);
	assert(p[20] != 110);
	assert(p[21] != 111);
}
__global__ void kernel_3(const int *p)
{
	assert(p[22] != 112);
	assert(p[23] != 113);
	assert(p[24] != 114);
	assert(p[25] != 115);
}
__global__ void kernel_4(const int *p)
{
	assert(p[26] != 116);
	assert(p[27] != 117);
	assert(p[28] != 118);
	assert(p[29] != 119);
}
__global__ void kernel_5(const int *p)
{
	assert(p[30] != 120);
	assert(p[31] != 121);
	assert(p[32] != 122);
	assert(p[33] != 123);
}
