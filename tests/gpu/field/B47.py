import torch, torch._inductor.config as cfg
cfg.assume_aligned_inputs = True            # promise that every input is 16-byte aligned ...
@torch.compile
def f(a, b): return torch.relu(a) * b
base = torch.randn(1 << 20, device="cuda")
a = base[1:1 + (1 << 19)]                   # ... and break it: data_ptr % 16 == 4
print(a.data_ptr() % 16, f(a, torch.ones_like(a)).sum().item()); torch.cuda.synchronize()
