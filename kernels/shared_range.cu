// A store past the end of shared memory.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernel.h"

__global__ void fill_tile(int *out, int shift)
{
	extern __shared__ int tile[];
	tile[threadIdx.x + shift] = threadIdx.x;
	__syncthreads();
	out[threadIdx.x] = tile[threadIdx.x];
}

int main()
{
	int *out;
	CHECK(cudaMalloc(&out, 4096));
	expect("kind", "exception");
	expect("kernel", "fill_tile");
	expect("grid", "2,1,1");
	expect("block", "64,1,1");
	fill_tile<<<2, 64, 256>>>(out, 1 << 24);
	return finish();
}
