#include <cassert>
#include <cstdio>
__constant__ int table[16000];
__global__ void many(const int* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) assert(x[i] + table[i % 16000] > 0); }   // all fail
int main() { int n = 1 << 22, *x; cudaMalloc(&x, n * 4); cudaMemset(x, 0, n * 4); many<<<n / 1024, 1024>>>(x, n); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize())); }
// run: CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CUDA_COREDUMP_SHOW_PROGRESS=1 CUDA_COREDUMP_GENERATION_FLAGS=skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,skip_local_memory ./b91 ; compare with skip_constbank_memory added
