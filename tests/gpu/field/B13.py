import torch
lab = torch.zeros(2, 1, 16, 32, 32, device="cuda"); lab[1, 0, 3, 4:9, 4:9] = 63     # one forgotten organ value
y = torch.zeros(2, 5, 16, 32, 32, device="cuda", dtype=torch.bool)
y.scatter_(1, lab.long(), 1)
print(y.sum(dim=(0, 2, 3, 4)).tolist())
