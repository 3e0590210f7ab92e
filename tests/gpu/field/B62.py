import cupy as cp
src = r"""extern "C" __global__ void relu8(const void* x, void* y, int n8){
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= n8) return;
  int4 v = ((const int4*)x)[i]; v.x = v.x > 0 ? v.x : 0; ((int4*)y)[i] = v; }"""
f = cp.RawKernel(src, "relu8"); x = cp.zeros(1025, dtype=cp.float16); y = cp.empty(1024, dtype=cp.float16)
f((1,), (128,), (x[1:], y, cp.int32(128))); cp.cuda.Stream.null.synchronize(); print("ok")
