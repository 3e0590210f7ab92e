import torch
x = torch.randn(16, 512, device="cuda")
_, idx = torch.topk(x, 40, dim=1)          # indices for width 512
y = torch.randn(16, 256, device="cuda")     # pruned tensor, same rows but narrower
print(y.gather(1, idx).mean().item())       # user-level variant of the same symptom
