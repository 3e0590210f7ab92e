import torch
n = 2**30 + 1
x = torch.ones(n, device="cuda"); y = torch.cumsum(x, 0); torch.cuda.synchronize(); print(y[-1].item())
