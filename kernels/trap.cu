// __trap(): the driver records no exception at all.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernel.h"

__global__ void trap_if_seven(const int *in)
{
	if (in[threadIdx.x] == 7)
		__trap();
}

int main()
{
	int host[64], *in;
	for (int i = 0; i < 64; i++)
		host[i] = i & 31;
	CHECK(cudaMalloc(&in, sizeof host));
	CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
	expect("kind", "trap");
	expect("kernel", "trap_if_seven");
	expect("position", "0,0,0 7,0,0");
	expect("position", "0,0,0 39,0,0");
	expect("grid", "1,1,1");
	expect("block", "64,1,1");
	trap_if_seven<<<1, 64>>>(in);
	return finish();
}
