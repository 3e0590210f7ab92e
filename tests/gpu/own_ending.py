#!/usr/bin/env python3
"""A training loop that meets a device assert, handles its error, saves what it has and ends with a status of its own.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import sys

import torch
import torch.nn.functional as F


def train() -> None:
    model = torch.nn.Linear(10, 3).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        x = torch.randn(8, 10, device="cuda")
        y = torch.randint(0, 3, (8,), device="cuda")
        if step == 2:
            y[5] = 3
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.1f}"[:6], flush=True)


def main() -> int:
    try:
        train()
    except RuntimeError as e:
        print(f"expect: caught {type(e).__name__}: {str(e).splitlines()[0]}", flush=True)
        try:
            torch.zeros(1, device="cuda").item()
            print("expect: later none", flush=True)
        except RuntimeError as later:
            print(f"expect: later {str(later).splitlines()[0]}", flush=True)
        return 5
    finally:
        print("expect: finally reached", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
