"""ResNet-50 (He et al. 2015, table 1) with batches of 32 on demand: kernels as long as those of real training. See train_loop.py."""
import torch
import torch.nn as nn
from train_loop import serve


def conv(n_in, n_out, size, stride=1):
    return nn.Sequential(nn.Conv2d(n_in, n_out, size, stride, size // 2, bias=False), nn.BatchNorm2d(n_out))


class Block(nn.Module):
    def __init__(self, n_in, n_middle, stride):
        super().__init__()
        n_out = 4 * n_middle
        self.body = nn.Sequential(conv(n_in, n_middle, 1), nn.ReLU(), conv(n_middle, n_middle, 3, stride), nn.ReLU(), conv(n_middle, n_out, 1))
        self.past = conv(n_in, n_out, 1, stride) if stride != 1 or n_in != n_out else nn.Identity()

    def forward(self, x):
        return torch.relu(self.body(x) + self.past(x))


def stages():
    n_in = 64
    for n_middle, n_blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(n_blocks):
            yield Block(n_in, n_middle, stride if i == 0 else 1)
            n_in = 4 * n_middle


torch.manual_seed(0)
model = nn.Sequential(conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *stages(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(32, 3, 224, 224, device="cuda")
y = torch.randint(0, 1000, (32,), device="cuda")


def step():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()


serve(step, 10)
