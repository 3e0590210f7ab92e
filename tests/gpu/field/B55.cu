#include <cstdio>
__global__ void sample(const float* img, const float2* uv, float* out, int n, int W, int H) {
  int i = threadIdx.x; if (i >= n) return;
  float x = (uv[i].x + 1.f) * .5f * W, y = (uv[i].y + 1.f) * .5f * H;
  int ix = (int)x, iy = (int)y;
  if (ix + 1 <= W && iy + 1 <= H) out[i] = img[(long)iy * W + ix];   // no lower bound check
}
int main() {
  const int W = 640, H = 480, n = 4; float *img, *out; float2* uv; float2 h[n] = {{0,0},{.5f,-.5f},{-1e7f,-6.7e7f},{.9f,.9f}};
  cudaMalloc(&img, W * H * 4); cudaMalloc(&out, n * 4); cudaMalloc(&uv, sizeof h);
  cudaMemset(img, 0, W * H * 4); cudaMemcpy(uv, h, sizeof h, cudaMemcpyHostToDevice);
  sample<<<1, 32>>>(img, uv, out, n, W, H);
  float r[n]; printf("%s\n", cudaGetErrorString(cudaMemcpy(r, out, sizeof r, cudaMemcpyDeviceToHost)));
}
