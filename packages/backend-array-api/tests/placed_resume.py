"""A training of one or two processes that goes on from a checkpoint.

``python placed_resume.py NUMBER PORT PROCESSES DEVICES SHAPE FOLDER STEPS [raise|kill RANK STEP]``; it prints the losses.
"""

import os
import signal
import sys

if __name__ == "__main__":
    _, NUMBER, PORT, PROCESSES, DEVICES, SHAPE, FOLDER, STEPS, *END = sys.argv
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"

import jax

if __name__ == "__main__" and PROCESSES != "1":
    jax.distributed.initialize(f"127.0.0.1:{PORT}", int(PROCESSES), int(NUMBER))

# JAX is told of the other process before anything computes.
from pathlib import Path

import torchlike as torch
from torchlike.distributed import checkpoint
from torchlike.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torchlike.distributed.fsdp import fully_shard
from torchlike.distributed.tensor import DTensor, Partial, Replicate, Shard, init_device_mesh
from torchlike.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    mesh = init_device_mesh("jax", tuple(map(int, SHAPE.split(","))))
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4)).to("jax")
    data = TensorDataset(torch.randn(64, 4), torch.randint(0, 4, (64,)))
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    done = 0
    if Path(FOLDER).exists():
        model, states = get_state_dict(net, optimizer)
        state = {"model": model, "optimizer": states, "step": 0}
        checkpoint.load(state, checkpoint_id=FOLDER)
        set_state_dict(net, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        done = state["step"]

    # Each process loads its part of a batch; together these are one batch of sixteen.
    sampler = DistributedSampler(data, int(PROCESSES), int(NUMBER), shuffle=False)
    batches = list(DataLoader(data, batch_size=16 // int(PROCESSES), sampler=sampler))
    by_batch = [Shard(0)] * mesh.ndim

    def step(x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step = torch.capture(step)
    losses = []
    for number in range(done, done + int(STEPS)):
        if END[1:] == [NUMBER, str(number)]:
            if END[0] == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("this rank has had enough")
        x, y = (DTensor.from_local(each.to("jax"), mesh, by_batch) for each in batches[number % len(batches)])
        assert x.shape == (16, 4)
        losses.append(round(step(x, y).item(), 5))
    weight = net[0].weight
    assert weight.tolist() == weight.cpu().tolist() == weight.full_tensor().tolist()
    assert "placements=" in repr(weight)
    total = DTensor.from_local(torch.ones(3, device="jax"), mesh, [Partial()] + [Replicate()] * (mesh.ndim - 1))
    assert total.tolist() == [float(PROCESSES)] * 3
    model, states = get_state_dict(net, optimizer)
    checkpoint.save({"model": model, "optimizer": states, "step": done + int(STEPS)}, checkpoint_id=FOLDER)
    print("losses", losses)


if __name__ == "__main__":
    main()
