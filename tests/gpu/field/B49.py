import torch, torch.nn.functional as F
torch.backends.cudnn.enabled = False
lp = torch.randn(40, 2, 10, device="cuda").log_softmax(2)
tg = torch.randint(1, 10, (2, 12), device="cuda"); tg[1, 4] = 2147483647
l = F.ctc_loss(lp, tg, torch.full((2,), 40), torch.full((2,), 12)); print(l.item())
