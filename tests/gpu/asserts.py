"""Device asserts of PyTorch, one a run: asserts.py embedding|none|gather|bce."""
import sys

import torch
import torch.nn.functional as F


def run(what):
    if what == "embedding":
        table = torch.nn.Embedding(10, 4).cuda()
        ids = torch.arange(8, device="cuda")
        ids[5] = 17
        return table(ids).sum().item()
    if what == "none":
        x = torch.randn(64, 5, device="cuda")
        y = torch.randint(0, 5, (64,), device="cuda")
        y[40] = 9
        return F.cross_entropy(x, y, reduction="none").sum().item()
    if what == "gather":
        x = torch.randn(64, 5, device="cuda", requires_grad=True)
        i = torch.zeros(64, 1, dtype=torch.long, device="cuda")
        i[3] = 7
        return x.gather(1, i).sum().backward()
    if what == "bce":
        return F.binary_cross_entropy(torch.full((8,), 1.5, device="cuda"), torch.ones(8, device="cuda")).item()
    raise SystemExit(__doc__)


run(sys.argv[1])
