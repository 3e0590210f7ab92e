import torch
w = torch.rand(8, 100, device="cuda"); w[3, 50] = float("inf")
s = torch.multinomial(w, 16, replacement=True)
print(s.float().mean().item())
