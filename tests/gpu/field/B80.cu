#include <cstdio>
__global__ void consumer(volatile int* flag, int* out) { while (*flag == 0) { } out[threadIdx.x] = *flag; }
__global__ void producer(volatile int* flag) { *flag = 1; }
int main() {
  int *f, *o; cudaMalloc(&f, 4); cudaMalloc(&o, 4096); cudaMemset(f, 0, 4);
  consumer<<<1, 1024>>>(f, o);          // same stream: the producer can never start
  producer<<<1, 1>>>(f);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
