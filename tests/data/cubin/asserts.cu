// Calls of the assert handler in the forms that compilers give them, for every architecture; see README.md.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <assert.h>

template <typename T> __global__ void gather(const T *input, const long *index, T *output, long n, long limit)
{
	for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		assert(index[i] >= 0 && index[i] < limit && "index out of bounds");
		output[i] = input[index[i]];
	}
}

template __global__ void gather<float>(const float *, const long *, float *, long, long);
template __global__ void gather<double>(const double *, const long *, double *, long, long);

__device__ __noinline__ float checked_root(float x)
{
	assert(x >= 0.0f);
	return sqrtf(x);
}

struct divide {
	__device__ float operator()(float a, float b) const
	{
		assert(b != 0.0f);
		return a / b;
	}
};

template <typename F> __device__ float apply(F f, float a, float b)
{
	return f(a, b);
}

extern "C" __global__ void many_checks(const float *a, const float *b, float *out, int n, int kind)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	assert(i < n);
	float x = a[i], y = b[i];
	switch (kind) {
	case 0:
		out[i] = checked_root(x);
		break;
	case 1:
		out[i] = apply(divide(), x, y);
		break;
	case 2:
		out[i] = apply([](float p, float q) { assert(p <= q); return q - p; }, x, y);
		break;
	default:
		assert(false);
	}
	assert(out[i] == out[i] && "the result is NaN");
}
