#include <cstdio>
#define DEVICE_CHECK(c) do { if (!(c)) __trap(); } while (0)
__global__ void limits(const double* x, double* y, int n) {
  int i = threadIdx.x; DEVICE_CHECK(i < n); DEVICE_CHECK(x[i] >= 0.0); y[i] = sqrt(x[i]);
}
int main() {
  double h[8] = {1,2,3,4,5,-6,7,8}, *x, *y; cudaMalloc(&x, 64); cudaMalloc(&y, 64); cudaMemcpy(x, h, 64, cudaMemcpyHostToDevice);
  limits<<<1, 8>>>(x, y, 8); cudaError_t e = cudaDeviceSynchronize(); printf("%d %s\n", (int)e, cudaGetErrorString(e));
}
