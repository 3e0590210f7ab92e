import torch, torch.nn as nn, sys
crit = nn.CrossEntropyLoss(ignore_index=255)
logits = torch.randn(1, 150, 32, 32, device="cuda", requires_grad=True)
raw = torch.randint(1, 151, (1, 32, 32)); raw[0, 5, 0] = 0          # 0 = "void" in the raw annotation
lab = (raw - 1).cuda()                                               # -> -1, not 255
sys.stderr.write("TRAIN (1) |   0%|          | 5/5053 [00:14<4:42:06]"); sys.stderr.flush()   # no newline
crit(logits, lab).backward(); torch.cuda.synchronize()
