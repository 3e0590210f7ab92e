#include <cstdio>
__global__ void fill(float* p, size_t n) { size_t i = ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x; if (i < n) p[i] = 1.f; }
static void launch_fill(float* p, size_t n) { dim3 g(8, (unsigned)((n / 256 + 7) / 8)); fill<<<g, 256>>>(p, n); }
int main() {
  size_t n = 8192ull * 16384; float* p; cudaMalloc(&p, n * 4); launch_fill(p, n);
  printf("launch: %s\n", cudaGetErrorString(cudaGetLastError())); printf("sync: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
