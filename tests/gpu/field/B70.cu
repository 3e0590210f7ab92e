// build: nvcc -gencode arch=compute_100,code=sm_100 -o b70 b70.cu     (then run on sm_90)
#include <cstdio>
__global__ void hello(int* p) { *p = 42; }
int main() {
  int* p; cudaMalloc(&p, 4); hello<<<1, 1>>>(p); cudaError_t e = cudaGetLastError();
  printf("%s: %s\n", cudaGetErrorName(e), cudaGetErrorString(e)); return e != 0;
}
