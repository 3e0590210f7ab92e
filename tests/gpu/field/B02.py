import torch, torch.nn as nn, torch.nn.functional as F
class Head(nn.Module):
    def __init__(s, n): super().__init__(); s.proj = nn.Linear(16, n)
    def forward(s, h, y): 
        lo = s.proj(h); return F.cross_entropy(lo.view(-1, lo.size(-1)), y.view(-1)), lo
m = Head(7).cuda().half()
h = torch.randn(4, 9, 16, device="cuda").half(); y = torch.randint(0, 7, (4, 9), device="cuda"); y[2, 5] = 7
loss, lo = m(h, y)
def convert_to_fp32(ts): return [t.float() for t in ts]   # where the user sees the error
out = convert_to_fp32([loss, lo]); print(out[0].item())
