// A four-byte load from an address that is no multiple of four.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernel.h"

__global__ void read_shifted(const char *in, int *out, int shift)
{
	out[threadIdx.x] = *(const int *)(in + threadIdx.x * 4 + shift);
}

int main()
{
	char *in;
	int *out;
	CHECK(cudaMalloc(&in, 4096));
	CHECK(cudaMalloc(&out, 4096));
	CHECK(cudaMemset(in, 0, 4096));
	expect("kind", "exception");
	expect("kernel", "read_shifted");
	expect("exception", "warp-misaligned-address");
	expect("grid", "1,1,1");
	expect("block", "64,1,1");
	read_shifted<<<1, 64>>>(in, out, 2);
	return finish();
}
