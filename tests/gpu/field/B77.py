import os, torch, torch.distributed as dist, torch.multiprocessing as mp
def main(r, w):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29512", NCCL_DEBUG="INFO"); torch.cuda.set_device(r)
    dist.init_process_group("nccl", rank=r, world_size=w); net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(20, 5).cuda(), device_ids=[r])
    for i in range(4):
        y = torch.randint(0, 5, (16,), device="cuda"); y[3] = 5 if (r == w - 1 and i == 2) else y[3]
        torch.nn.functional.cross_entropy(net(torch.randn(16, 20, device="cuda")), y).backward()
    torch.cuda.synchronize()
if __name__ == "__main__": n = torch.cuda.device_count(); mp.spawn(main, (n,), n)
