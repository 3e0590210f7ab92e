import torch, torch.nn as nn
V = 32000; PAD = V
emb = nn.Embedding(V, 64).cuda(); W = torch.randn(64, 64, device="cuda")
ids = torch.randint(0, V, (3, 40), device="cuda"); ids[0, 25:] = PAD; ids[2, 38:] = PAD
print((emb(ids) @ W).abs().max().item())
