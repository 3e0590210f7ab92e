"""Segmentation of volumes [4, 1, 96, 96, 96]: a network with 14 output channels, and labels that go up to 14."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Segmenter(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down = nn.Sequential(nn.Conv3d(1, 8, 3, stride=2, padding=1), nn.InstanceNorm3d(8), nn.ReLU())
        self.up = nn.ConvTranspose3d(8, 8, 2, stride=2)
        self.head = nn.Conv3d(8, channels, 1)

    def forward(self, image):
        return self.head(torch.relu(self.up(self.down(image))))


def step(model, optimizer, image, labels):
    logits = model(image)
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    model = Segmenter(14).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    image = torch.randn(4, 1, 96, 96, 96, device="cuda")
    labels = torch.randint(0, 14, (4, 96, 96, 96), device="cuda")
    labels[2, 40:44, 50, 60:64] = 14  # an organ that the head has no channel for
    print(step(model, optimizer, image, labels))


main()
