import torch, torch.nn.functional as F
m = (torch.rand(1, 1, 20, 20) > .5).float() * 255
m = F.interpolate(m, size=(48, 48), mode="bilinear").squeeze(1)     # invents values 1..254
lab = m.round().long().cuda(); lo = torch.randn(1, 2, 48, 48, device="cuda", requires_grad=True)
print(F.cross_entropy(lo, lab).item())
