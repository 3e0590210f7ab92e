import torch
n = 64 * 1024 * 1024
buf = torch.zeros(n, dtype=torch.int64).pin_memory()          # loader re-uses one pinned buffer
lab = buf.to("cuda", non_blocking=True)
buf.fill_(99)                                                # overwritten before the copy finished
oh = torch.zeros(3, n, device="cuda", dtype=torch.bool).scatter_(0, lab.view(1, n), 1)
print(oh.sum().item())
