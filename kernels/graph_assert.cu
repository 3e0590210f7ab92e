// An assert in the second node of a CUDA graph.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <cassert>
#include "kernel.h"

__global__ void first_node(int *value)
{
	*value = 4;
}

__global__ void second_node(const int *value, int limit)
{
	assert(*value < limit);
}

int main()
{
	int *value;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	CHECK(cudaMalloc(&value, sizeof *value));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	first_node<<<1, 1, 0, stream>>>(value);
	second_node<<<1, 32, 0, stream>>>(value, 4);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	expect("kind", "assert");
	expect("kernel", "second_node");
	expect("expression", "*value < limit");
	expect("threads", "32");
	expect("grid", "1,1,1");
	expect("block", "32,1,1");
	CHECK(cudaGraphLaunch(executable, stream));
	return finish();
}
