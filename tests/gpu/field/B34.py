import torch, torch.nn.functional as F
pred = torch.rand(4, 1, 512, 512, device="cuda")
gt = (torch.rand(4, 1, 512, 512, device="cuda") > .98).float()
gx = F.pad(gt[..., 1:] - gt[..., :-1], (0, 1)); gy = F.pad(gt[..., 1:, :] - gt[..., :-1, :], (0, 0, 0, 1))
edge = (gx**2 + gy**2).sqrt()                 # can be sqrt(2)
print(F.binary_cross_entropy(pred, edge).item())
