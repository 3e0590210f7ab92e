// SPDX-License-Identifier: GPL-3.0-or-later
// Device functions that are inlined into one another, and asserts in them.
#include <cassert>
__device__ __forceinline__ int innermost(const int *p, int i)
{
	int v = p[i];
	assert(v >= 0);
	return v;
}
__device__ __forceinline__ int middle(const int *p, int i)
{
	return innermost(p, i) * 2;
}
__global__ void outer(const int *p, int *q, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	assert(i < n && "too many threads");
	q[i] = middle(p, i);
}
