#include <cstdio>
__global__ void pool(const float* in, float* out, int N, int C, int H, int W) {
  int n = blockIdx.x, c = blockIdx.y * blockDim.x + threadIdx.x;
  if (c >= C) return;
  const float* p = in + (n * C + c) * H * W;         // int overflow before the pointer add
  float m = -1e30f; for (int i = 0; i < H * W; i += 97) m = fmaxf(m, p[i]);
  out[(size_t)n * C + c] = m;
}
int main() {
  int N = 72, C = 8192, H = 64, W = 64;                // 2.4e9 elements, 9.7 GB
  float *in, *out; size_t bytes = (size_t)N * C * H * W * 4;
  if (cudaMalloc(&in, bytes) || cudaMalloc(&out, (size_t)N * C * 4)) { puts("oom"); return 2; }
  cudaMemset(in, 0, bytes);
  pool<<<dim3(N, C / 256), 256>>>(in, out, N, C, H, W);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
