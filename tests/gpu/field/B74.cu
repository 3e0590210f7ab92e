#include <cstdio>
#include <cstdlib>
__global__ void prefix(long long* out, int n, long long far) {
  __shared__ long long start[16]; __shared__ long long guard[16];
  int lane = threadIdx.x & 31; guard[lane & 15] = -1; __syncthreads();
  start[lane + far] = lane < n ? lane : 0;                  // lanes 16..31 run past the array
  __syncthreads(); out[lane] = guard[lane & 15];
}
int main(int c, char** v) {
  long long far = c > 1 ? atoll(v[1]) : 0;                  // e.g. 40000 -> 320 KB, outside the shared window
  long long* o; cudaMalloc(&o, 256); prefix<<<1, 32>>>(o, 16, far); long long h[32];
  cudaError_t e = cudaMemcpy(h, o, 256, cudaMemcpyDeviceToHost); printf("%s guard[0]=%lld\n", cudaGetErrorString(e), e ? 0 : h[0]);
}
