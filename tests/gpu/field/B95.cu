#include <cstdio>
#include <cstdlib>
#define CUDA_CHECK(e) do { cudaError_t err_ = (e); if (err_ != cudaSuccess) { int id_ = -1; cudaGetDevice(&id_); fprintf(stderr, "CUDA error: %s\n  current device: %d, in function %s at %s:%d\n  %s\n", cudaGetErrorString(err_), id_, __func__, __FILE__, __LINE__, #e); abort(); } } while (0)
__global__ void mul_mat_vec_q(const unsigned char* w, const float* x, float* y, int ncols, long row0) {
  long row = row0 + blockIdx.x; float s = 0; for (int c = threadIdx.x; c < ncols; c += 32) s += w[row * ncols + c] * x[c]; atomicAdd(y + blockIdx.x, s);
}
static void backend_synchronize(cudaStream_t s) { CUDA_CHECK(cudaStreamSynchronize(s)); }
int main() {
  int nc = 4096, nr = 1024; unsigned char* w; float *x, *y; cudaStream_t s; CUDA_CHECK(cudaStreamCreate(&s));
  CUDA_CHECK(cudaMalloc(&w, (size_t)nc * nr)); CUDA_CHECK(cudaMalloc(&x, nc * 4)); CUDA_CHECK(cudaMalloc(&y, nr * 4));
  mul_mat_vec_q<<<nr, 32, 0, s>>>(w, x, y, nc, 1L << 28);      // row split offset of another device
  backend_synchronize(s);
}
