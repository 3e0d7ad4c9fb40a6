"""Train a linear model on more data than a worker of the cluster can hold: ``python examples/train_on_a_cluster.py``.

It starts two worker processes on this machine, or takes the address of a scheduler: ``--scheduler tcp://HOST:8786``; the
workers have the packages installed. The data are drawn by the workers chunk by chunk, wherever and as often as a chunk is
needed, and each step of the training is one graph for Dask. A worker that is lost does not change the result:
``--lose-worker-at 5`` kills one.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack

from distributed import Client, LocalCluster, progress

import torchlike
from dispatch_core import frontends
from torchlike import nn, optim


def make_data(rows: int, features: int, chunk: int) -> tuple[torchlike.Tensor, torchlike.Tensor]:
    """Return the data and what is to be predicted, both on Dask, in chunks of so many rows. Nothing is computed."""
    torchlike.manual_seed(0)
    data = torchlike.rand(rows, features, device="dask", chunks=(chunk, None))
    weights = torchlike.linspace(-1, 1, features).to("dask")
    return data, (data @ weights).unsqueeze(1) + 0.5


def train(
    data: torchlike.Tensor,
    target: torchlike.Tensor,
    steps: int,
    after_step: Callable[[int, nn.Module, torchlike.Tensor], object] = lambda step, model, loss: None,
) -> nn.Module:
    """Return a linear model after so many steps of gradient descent over all of the data."""
    torchlike.manual_seed(1)
    model = nn.Linear(data.shape[1], 1).to(data.device)
    optimizer = optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for step in range(steps):
        with torchlike.pipeline():
            loss = nn.functional.mse_loss(model(data), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        after_step(step, model, loss.detach())
    return model


def lose_a_worker(client: Client) -> None:
    """End a worker process of a cluster on this machine by force; its nanny starts another."""
    os.kill(next(iter(client.run(os.getpid).values())), getattr(signal, "SIGKILL", signal.SIGTERM))


def main(arguments: list[str] | None = None) -> nn.Module:
    """Train, and tell of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--scheduler", help="the address of a scheduler; two workers on this machine without it")
    parser.add_argument("--memory-limit", default="400MiB", help="of each worker that is started (400MiB)")
    parser.add_argument("--rows", type=int, default=1_500_000)
    parser.add_argument("--features", type=int, default=80)
    parser.add_argument("--chunk", type=int, default=50_000, help="rows of a chunk (50000)")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--lose-worker-at", type=int, default=-1, metavar="STEP", help="kill a worker after this step")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        address = options.scheduler
        if address is None:
            cluster = LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit=options.memory_limit,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
            address = stack.enter_context(cluster)
        client = stack.enter_context(Client(address))
        data, target = make_data(options.rows, options.features, options.chunk)
        size = options.rows * options.features * 4 >> 20
        print(f"{size} MiB of data; workers of {options.memory_limit} at {client.scheduler.address}")
        started = time.perf_counter()

        def report(step: int, model: nn.Module, loss: torchlike.Tensor) -> None:
            if step == options.lose_worker_at:
                lose_a_worker(client)
                print("a worker was killed")
            progress(frontends.materialize(model.weight), notebook=False)
            print(f"\nstep {step}: loss {loss.item():.6f}, {time.perf_counter() - started:.1f} s")

        model = train(data, target, options.steps, report)
        # The client goes now, and with it what the workers hold.
        return model.to("cpu")


if __name__ == "__main__":
    trained = main()
    print(f"weights from {trained.weight.min().item():.4f} to {trained.weight.max().item():.4f}")
