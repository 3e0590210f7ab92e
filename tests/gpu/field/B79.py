import os, time, datetime, torch, torch.distributed as dist, torch.multiprocessing as mp
def main(r, w):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29514"); dist.init_process_group("gloo", rank=r, world_size=w, timeout=datetime.timedelta(seconds=15))
    for step in range(5):
        g = torch.ones(1000)
        if r == 2 and step == 3: time.sleep(60)             # e.g. stuck data loader
        dist.all_reduce(g)
if __name__ == "__main__": mp.spawn(main, (4,), 4)
