// Recursion that is deeper than the stack of a thread.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernel.h"

__device__ __noinline__ int descend(int n, volatile int *sink)
{
	volatile int pad[64];
	pad[n & 63] = n;
	*sink = pad[(n * 7) & 63];
	return n ? descend(n - 1, sink) + pad[n & 63] : 0;
}

__global__ void overflow_stack(int depth, int *sink)
{
	*sink = descend(depth, sink);
}

int main()
{
	int *sink;
	CHECK(cudaMalloc(&sink, 4096));
	expect("kind", "exception");
	expect("kernel", "overflow_stack");
	expect("grid", "1,1,1");
	expect("block", "32,1,1");
	overflow_stack<<<1, 32>>>(100000, sink);
	return finish();
}
