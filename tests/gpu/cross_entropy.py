"""A training loop whose fourth batch holds one label that its three classes do not have."""
import torch
import torch.nn as nn


def train_step(model, x, y):
    logits = model(x)
    return nn.functional.cross_entropy(logits, y)


def main():
    torch.manual_seed(0)
    model = nn.Linear(10, 3).cuda()
    for iteration in range(5):
        x = torch.randn(32, 10, device="cuda")
        y = torch.randint(0, 3, (32,), device="cuda")
        if iteration == 3:
            y[2] = 3
            print(f"expect: pointer {y.data_ptr():#x}", flush=True)
        loss = train_step(model, x, y)
        loss.backward()
    print("loss", loss.item())


main()
