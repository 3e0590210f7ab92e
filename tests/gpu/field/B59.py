import cupy as cp
k = cp.RawKernel(r"""extern "C" __global__ void addone(float* a, int rows, int cols){
  int r = blockIdx.y*blockDim.y+threadIdx.y, c = blockIdx.x*blockDim.x+threadIdx.x;
  if (r < rows && c < cols) a[r*cols + c] += 1.f; }""", "addone")      # r*cols is int
rows, cols = 240000, 10000
a = cp.zeros((rows, cols), dtype=cp.float32)
k(((cols + 31)//32, (rows + 31)//32), (32, 32), (a, cp.int32(rows), cp.int32(cols)))
cp.cuda.Stream.null.synchronize(); print(float(a[0, 0]))
