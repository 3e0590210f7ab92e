import numpy as np
if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # numba-cuda 0.1x asks for the name that NumPy 2 dropped
from numba import cuda
@cuda.jit(debug=True, opt=False)
def fill(a, lim):
    i = cuda.grid(1)
    assert i < lim, "row beyond limit"
    a[i] = i
a = cuda.to_device(np.zeros(256, np.int32)); fill[2, 128](a, 200); print(a.copy_to_host()[:3])
