#include <cstdio>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) pair(int* out) {
  __shared__ int box; cg::cluster_group cl = cg::this_cluster();
  if (threadIdx.x == 0) box = 0;
  cl.sync();
  if (cl.block_rank() == 1) return;                         // leaves while its partner still needs its shared memory
  for (int i = 0; i < 4000; i++) __nanosleep(1000);
  int* remote = cl.map_shared_rank(&box, 1); atomicAdd(remote, 7); out[blockIdx.x] = *remote;
}
int main() { int* o; cudaMalloc(&o, 64); pair<<<4, 32>>>(o); cudaError_t e = cudaDeviceSynchronize(); printf("%s: %s\n", cudaGetErrorName(e), cudaGetErrorString(e)); }
