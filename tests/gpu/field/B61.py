import torch
from torch.nn.attention import sdpa_kernel, SDPBackend
B, H, S, D = 2, 8, 128, 64; n = B * H * S * D
flat = torch.randn(3 * n + 1, device="cuda")
q, k, v = (flat[1 + i * n: 1 + (i + 1) * n].view(B, H, S, D) for i in range(3))     # all shifted by one float
with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v)
torch.cuda.synchronize(); print(o.mean().item())
