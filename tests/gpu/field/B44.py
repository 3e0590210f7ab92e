import torch
@torch.compile(dynamic=True)
def route(x, idx):                      # x gets one extra zero row, like a token-drop buffer
    pad = torch.cat([x, x.new_zeros(1, x.size(1))])
    return pad[idx] * 2
for n in (64, 100):
    x = torch.randn(n, 256, device="cuda"); idx = torch.randint(0, n + 1, (4096,), device="cuda")
    if n == 100: idx[4000] = n + 1       # one past the padded table
    print(route(x, idx).sum().item())
