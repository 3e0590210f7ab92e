import torch, torch.nn as nn
vocab = {f"w{i}": i for i in range(500)}
emb = nn.EmbeddingBag(len(vocab), 16, mode="mean").cuda(); clf = nn.Linear(16, 6).cuda()
for t in ("[SPECIAL1]", "[SPECIAL2]"): vocab[t] = len(vocab)       # 500, 501 - emb not resized
docs = [["w1", "w2"], ["[SPECIAL1]", "w7"], ["w499", "[SPECIAL2]"]]
ids = torch.tensor([[vocab[w] for w in d] for d in docs], device="cuda")
print(clf(emb(ids)).argmax(1).tolist())
