import torch, torch.nn as nn
PAD = 1
class Emb(nn.Module):
    def __init__(s): super().__init__(); s.word = nn.Embedding(1000, 32); s.position_embeddings = nn.Embedding(514, 32)
    def forward(s, ids):
        m = ids.ne(PAD).int(); pos = (torch.cumsum(m, 1) * m).long() + PAD
        return s.word(ids) + s.position_embeddings(pos)
m = Emb().cuda()
for L in (100, 511, 513):                        # 513 real tokens -> position 514
    print(L, m(torch.randint(5, 1000, (2, L), device="cuda")).sum().item())
