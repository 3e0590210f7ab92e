import torch, triton, triton.language as tl
@triton.jit(debug=True)
def chk(x, n, lim, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B); m = o < n
    v = tl.load(x + o, m, other=0)
    tl.device_assert((v < lim) | ~m, "value above limit: v < lim")
    tl.store(x + o, v + 1, m)
x = torch.arange(1000, device="cuda", dtype=torch.int32)
chk[(triton.cdiv(1000, 128),)](x, 1000, 900, B=128); torch.cuda.synchronize(); print("exit ok (asserts were off?)")
