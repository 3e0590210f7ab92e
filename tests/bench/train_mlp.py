"""A small training loop on demand: many short kernels, the worst case for whoever stands beside each launch. See train_loop.py."""
import torch
import torch.nn as nn
from train_loop import serve

torch.manual_seed(0)
layers = [nn.Linear(256, 256) for _ in range(16)]
model = nn.Sequential(*[m for layer in layers for m in (layer, nn.ReLU())], nn.Linear(256, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(128, 256, device="cuda")
y = torch.randint(0, 10, (128,), device="cuda")


def step():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()


serve(step, 50)
