import torch, torch.nn.functional as F
torch.manual_seed(0)
a = torch.softmax(torch.randn(256, 50, device="cuda") * 4, 1)
p = a.cumsum(1)[:, -1]                          # 1.0000001 for some rows
p = torch.maximum(p, torch.nextafter(torch.ones_like(p), torch.full_like(p, 2.)) * (torch.arange(256, device="cuda") == 223))
print("%.9f" % 1.0, F.binary_cross_entropy(p, torch.ones_like(p)).item())
