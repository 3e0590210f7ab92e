// What all fault programs share. Each prints the facts that a report must have ("expect: KEY VALUE" on standard output), then faults.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CUDATRAP_KERNEL_H
#define CUDATRAP_KERNEL_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                           \
	do {                                                                                                  \
		cudaError_t e_ = (call);                                                                      \
		if (e_ != cudaSuccess) {                                                                      \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_)); \
			exit(1);                                                                              \
		}                                                                                             \
	} while (0)

static inline void expect(const char *key, const char *value)
{
	printf("expect: %s %s\n", key, value);
	fflush(stdout);
}

// What an unsuspecting program does after its launch. Returns main()'s status.
static inline int finish()
{
	cudaError_t launch = cudaGetLastError();
	cudaError_t sync = cudaDeviceSynchronize();
	printf("launch: %s\nsync: %s\n", cudaGetErrorString(launch), cudaGetErrorString(sync));
	return launch != cudaSuccess || sync != cudaSuccess;
}

#endif
