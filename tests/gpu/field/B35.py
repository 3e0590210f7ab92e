import torch, torch.nn as nn
class Span(nn.Module):
    def __init__(s): super().__init__(); s.w = nn.Linear(32, 1)
    def forward(s, x, mask):
        z = s.w(x).squeeze(-1).masked_fill(~mask, float("-inf"))
        att = z.softmax(-1)                      # all-masked row -> nan
        return torch.sigmoid(att * 3)
m = Span().cuda(); x = torch.randn(4, 128, 32, device="cuda"); mask = torch.ones(4, 128, dtype=torch.bool, device="cuda"); mask[2] = False
p = m(x, mask); print(nn.BCELoss()(p, torch.zeros_like(p)).item())
