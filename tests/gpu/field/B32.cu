#include <cassert>
#include <cstdio>
#include <cstdint>
__global__ void index_add_f32(const uint32_t* ids, const float* inp, float* out, uint32_t dst_dim_size, uint32_t n) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uint32_t idx = ids[i];
    assert(idx < dst_dim_size);
    atomicAdd(&out[idx], inp[i]);
  }
}
static void launch_index_add(uint32_t* d_ids, float* d_in, float* d_out, uint32_t n) {
  index_add_f32<<<2, 128>>>(d_ids, d_in, d_out, 64, n);
}
int main() {
  const uint32_t n = 256; uint32_t h[n]; for (uint32_t i = 0; i < n; i++) h[i] = i % 64;
  h[77] = (uint32_t)(7.0f / 0.1f);                      // 70: float math before the integer conversion
  uint32_t* ids; float *in, *out; cudaMalloc(&ids, sizeof h); cudaMalloc(&in, n * 4); cudaMalloc(&out, 64 * 4);
  cudaMemcpy(ids, h, sizeof h, cudaMemcpyHostToDevice); cudaMemset(in, 0, n * 4); cudaMemset(out, 0, 256);
  launch_index_add(ids, in, out, n);
  float r[64]; cudaError_t e = cudaMemcpy(r, out, 256, cudaMemcpyDeviceToHost);   // "to_device" place
  printf("%s: %s\n", cudaGetErrorName(e), cudaGetErrorString(e)); return e != cudaSuccess;
}
