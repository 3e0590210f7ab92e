import torch, torch.nn as nn
tags, PAD = 5, 5                               # bug: pad id not in the tag table
lstm = nn.LSTM(8, 12, batch_first=True).cuda(); fc = nn.Linear(12, tags).cuda(); crit = nn.NLLLoss()
x = torch.randn(3, 6, 8, device="cuda"); y = torch.tensor([[0,1,2,3,4,1],[1,2,PAD,PAD,PAD,PAD],[4,4,0,PAD,PAD,PAD]], device="cuda")
h, _ = lstm(x); loss = crit(fc(h).log_softmax(-1).reshape(-1, tags), y.reshape(-1))
loss.backward(); print(float(loss))
