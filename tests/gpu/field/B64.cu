#include <cstdio>
__device__ __noinline__ int walk(const int* left, int n, int acc) {
  volatile int pad[64]; pad[n & 63] = acc;                 // 256 bytes per frame
  return n <= 0 ? pad[0] : walk(left, left[n], acc + pad[n & 63]) + 1;
}
__global__ void tree(const int* left, int* out, int n) { out[threadIdx.x] = walk(left, n, threadIdx.x); }
int main() {
  const int n = 100000; int *l, *o, *h = new int[n + 1]; for (int i = 0; i <= n; i++) h[i] = i - 1;
  cudaMalloc(&l, (n + 1) * 4); cudaMalloc(&o, 128); cudaMemcpy(l, h, (n + 1) * 4, cudaMemcpyHostToDevice);
  tree<<<1, 32>>>(l, o, n); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
