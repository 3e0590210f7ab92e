#include <cstdio>
__global__ void bwd(float* g, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) g[i] *= .5f; }
static int visible(float z) { return z > 0.2f ? 1 : 0; }
int main() {
  float z[4] = {.1f, .05f, .15f, .19f}; int bins = 0; for (float q : z) bins += visible(q) * 32;
  float* g; cudaMalloc(&g, 1024); bwd<<<(bins + 31) / 32, 32>>>(g, bins);
  cudaError_t e = cudaGetLastError(); printf("%d %s\n", (int)e, cudaGetErrorString(e)); return e != 0;
}
