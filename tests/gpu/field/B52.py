import torch, triton, triton.language as tl
@triton.jit
def rope_like(q, cosv, head, B: tl.constexpr):
    t = tl.program_id(0); o = tl.arange(0, B)
    c = tl.load(cosv + t.to(tl.int64) * 1_000_000_000 + o)      # stride of the wrong tensor
    p = q + t * head + o
    tl.store(p, tl.load(p) * c)
q = torch.randn(64, 128, device="cuda"); cosv = torch.randn(64, 64, device="cuda"); w = torch.randn(128, 128, device="cuda")
rope_like[(1,)](q, cosv, 128, B=64); y = q @ w; torch.cuda.synchronize()   # warm-up, t=0 is harmless
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    rope_like[(64,)](q, cosv, 128, B=64); y = q @ w
g.replay(); print(y.sum().item())
