import torch
def sample(logits, temperature=0.7):
    probs = torch.softmax(logits / temperature, -1)
    return torch.multinomial(probs, 1)
h = torch.randn(1, 4096, device="cuda", dtype=torch.float16) * 300
W = torch.randn(4096, 1000, device="cuda", dtype=torch.float16) * 8
logits = h @ W                                  # fp16 overflow -> inf, softmax -> nan
print(sample(logits).tolist())
