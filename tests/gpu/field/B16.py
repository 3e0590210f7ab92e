import torch
cos = torch.randn(1, 2048, 64, device="cuda")
pos = torch.arange(64, device="cuda").view(1, 64, 1).expand(1, 64, 64).clone()
pos.view(-1)[3000:] = 4575657222473777152       # bytes of float 1.0/1.0 seen as int64 = corrupted copy
print(cos.gather(1, pos).sum().item())
