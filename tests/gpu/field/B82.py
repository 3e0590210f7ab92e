import torch, torch.multiprocessing as mp, time
def produce(q): q.put(torch.arange(1 << 20, device="cuda")); time.sleep(.5)      # exits while the consumer still holds it
def consume(q):
    t = q.get(); time.sleep(3); print(t.sum().item()); torch.cuda.synchronize()
if __name__ == "__main__":
    c = mp.get_context("spawn"); q = c.Queue(); a, b = c.Process(target=produce, args=(q,)), c.Process(target=consume, args=(q,))
    a.start(); b.start(); a.join(); b.join(); print(a.exitcode, b.exitcode)
