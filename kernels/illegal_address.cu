// A store far beyond every allocation.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernel.h"

__global__ void write_strided(int *out, long n, long stride)
{
	long i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i * stride] = (int)i;
}

int main()
{
	int *out;
	CHECK(cudaMalloc(&out, 4096));
	expect("kind", "exception");
	expect("kernel", "write_strided");
	expect("exception", "warp-illegal-address");
	expect("grid", "4,1,1");
	expect("block", "256,1,1");
	write_strided<<<4, 256>>>(out, 1000, 1L << 30);
	return finish();
}
