import torch, torch.nn as nn
lut, lin = nn.Embedding(10, 20).cuda(), nn.Linear(20, 1).cuda()
one_based = torch.tensor([1, 2, 3, 0], device="cuda")
oo = lut(one_based - 1); print(oo.size())
print(lin(oo).sum().item())
