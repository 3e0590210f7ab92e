import torch
def one_hot(lab, c):                       # lab [B,1,H,W]
    o = torch.zeros(lab.size(0), c, *lab.shape[2:], device=lab.device)
    return o.scatter_(1, lab.long(), 1.0)
pred = torch.zeros(1, 1, 256, 256, device="cuda"); lab = (torch.rand(1, 1, 256, 256, device="cuda") > .7)
t = one_hot(lab, pred.size(1)); print(((pred.sigmoid() - t) ** 2).mean().item())
