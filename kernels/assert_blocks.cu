// A device assert that fails in two threads of two blocks, in a function that is not inlined.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <cassert>
#include "kernel.h"

__device__ __noinline__ long load_label(const long *labels, long n_classes, int i)
{
	long label = labels[i];
	assert(label >= 0 && label < n_classes);
	return label;
}

__global__ void pick_scores(const float *scores, const long *labels, float *picked, int n, long n_classes)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		picked[i] = scores[i * n_classes + load_label(labels, n_classes, i)];
}

static void launch_pick(const float *scores, const long *labels, float *picked, int n)
{
	pick_scores<<<8, 128>>>(scores, labels, picked, n, 3);
}

int main()
{
	const int n = 1000;
	static long host[n];
	float *scores, *picked;
	long *labels;
	for (int i = 0; i < n; i++)
		host[i] = i % 3;
	host[2] = 3;
	host[517] = -1;
	CHECK(cudaMalloc(&scores, n * 3 * sizeof(float)));
	CHECK(cudaMalloc(&picked, n * sizeof(float)));
	CHECK(cudaMalloc(&labels, sizeof host));
	CHECK(cudaMemset(scores, 0, n * 3 * sizeof(float)));
	CHECK(cudaMemcpy(labels, host, sizeof host, cudaMemcpyHostToDevice));
	expect("kind", "assert");
	expect("kernel", "pick_scores");
	expect("expression", "label >= 0 && label < n_classes");
	expect("line", "9");
	expect("position", "0,0,0 2,0,0");
	expect("position", "4,0,0 5,0,0");
	expect("threads", "2");
	expect("grid", "8,1,1");
	expect("block", "128,1,1");
	expect("host", "launch_pick");
	launch_pick(scores, labels, picked, n);
	return finish();
}
