// A kernel that waits for a flag that nobody sets.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernel.h"

__global__ void wait_for_flag(volatile int *flag)
{
	while (*flag == 0) {
	}
}

int main()
{
	int *flag;
	CHECK(cudaMalloc(&flag, sizeof *flag));
	CHECK(cudaMemset(flag, 0, sizeof *flag));
	expect("kind", "hang");
	expect("kernel", "wait_for_flag");
	wait_for_flag<<<2, 64>>>(flag);
	return finish();
}
