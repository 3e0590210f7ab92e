import torch
R, C = 128, 21
bbox_pred = torch.randn(R, C * 4, device="cuda"); lab = torch.randint(0, C, (R,), device="cuda"); lab[40] = C
sel = bbox_pred.view(R, C, 4).gather(1, lab.view(R, 1, 1).expand(R, 1, 4))
print(sel.squeeze(1).abs().mean().item())
