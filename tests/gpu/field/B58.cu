#include <cstdio>
__global__ void scale(float* x, int n, float a) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= a; }
int main() {
  int nd = 0; cudaGetDeviceCount(&nd); if (nd < 2) { puts("SKIP: needs 2 GPUs"); return 77; }
  float* x; cudaSetDevice(1); cudaMalloc(&x, 1 << 20); cudaMemset(x, 0, 1 << 20);
  cudaSetDevice(0);                                     // "current device" is still 0 at the launch
  scale<<<1024, 256>>>(x, 1 << 18, 2.f);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
