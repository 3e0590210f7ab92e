import torch
attn = torch.rand(8, 64, 77, device="cuda")                 # heads, pixels, tokens
tok = torch.tensor([3, 9, 77, 81], device="cuda"); pix = torch.arange(4, device="cuda")
heat = attn[0][pix, tok]        # two index tensors -> index_elementwise_kernel path (IndexKernel.cu)
print(heat.cpu())
