import torch
x = torch.randn(1024, device="cuda"); w = torch.randn(1024, 1024, device="cuda")
s = torch.cuda.Stream(); s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s): (w @ x).relu()
torch.cuda.current_stream().wait_stream(s)
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    y = (w @ x).relu()
    if y.max().item() > 0:              # host sync inside the capture
        y = y / y.max()
print("not reached")
