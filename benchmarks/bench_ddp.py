"""Steps of `DistributedDataParallel` in two processes beside torch's: ``python benchmarks/bench_ddp.py [ENGINE ...]``.

It starts two processes by mpirun (``mpi``) and by `torchlike.distributed.run` (``gloo``, that inside XLA). Each has torch's
gloo group and ours, and both libraries train the same program in turns of some steps; the clock counts, because they
wait for each other. A turn's time is that of the slower process, and a row has the least of each library's. ``alone`` is the
same step without a group, in both processes at once.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from harness import Row, parser, report

ENGINES: Final = ("mpi", "gloo")
GOAL: Final = 1.3
_MPIRUN: Final = "--with-ft ulfm --mca btl self,sm --oversubscribe -n 2".split()


def _mlp(library: Any, widths: tuple[int, ...]) -> Any:
    nn = library.nn
    layers = []
    for before, behind in pairwise(widths):
        layers += [nn.Linear(before, behind), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


#: Program → the widths of its layers, the rows of a batch, the optimizer, the steps of a turn.
PROGRAMS: Final = {
    "MLP 64-128-10, SGD": ((64, 128, 10), 64, "SGD", 10),
    "MLP 64-128-10, Adam": ((64, 128, 10), 64, "Adam", 10),
    "MLP 512-1024-1024-10, SGD": ((512, 1024, 1024, 10), 64, "SGD", 3),
}


def _make_step(library: Any, program: str, rank: int, *, alone: bool) -> Callable[[], Any]:
    """Return the program's step; both libraries begin with the same weights, and ranks have their own batches."""
    import numpy as np

    widths, rows, optimizer_name, _ = PROGRAMS[program]
    random = np.random.default_rng(0)
    model = _mlp(library, widths)
    with library.no_grad():
        for parameter in model.parameters():
            parameter.copy_(library.tensor(random.standard_normal(tuple(parameter.shape), np.float32) * 0.05))
    random = np.random.default_rng(rank)
    data = library.tensor(random.standard_normal((rows, widths[0]), np.float32))
    labels = library.tensor(random.integers(0, widths[-1], rows))
    if not alone:
        model = library.nn.parallel.DistributedDataParallel(model)
    optimizer = getattr(library.optim, optimizer_name)(model.parameters(), lr=1e-3)
    cross_entropy = library.nn.functional.cross_entropy

    def step() -> Any:
        loss = cross_entropy(model(data), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def _measure_here(engine: str, folder: str, repeats: int, chosen: list[str]) -> None:
    """Be one of the two processes; rank 0 writes the rows."""
    import torch

    import torchlike

    torch.set_num_threads(1)
    torchlike.distributed.init_process_group(engine, timeout=60)
    rank = torchlike.distributed.get_rank()
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2, timeout=timedelta(seconds=60)
    )
    rows = []
    for program in PROGRAMS:
        if chosen and not program.startswith(tuple(chosen)):
            continue
        for alone in (False, True):
            ours, theirs = (_make_step(each, program, rank, alone=alone) for each in (torchlike, torch))
            if abs(float(ours()) - float(theirs())) > 1e-4:
                raise SystemExit(f"{program}: the loss differs from torch's")
            rows.append(
                _compare(f"{program}, {'alone' if alone else engine}", ours, theirs, PROGRAMS[program][3], repeats)
            )
    if rank == 0:
        Path(folder, "rows.json").write_text(json.dumps([asdict(each) for each in rows]), encoding="utf-8")
    torch.distributed.destroy_process_group()
    torchlike.distributed.destroy_process_group()


def _compare(name: str, ours: Callable[[], Any], theirs: Callable[[], Any], steps: int, repeats: int) -> Row:
    """Return a row of turns of both, as long as the slower process's."""
    import torch

    times: dict[Any, list[float]] = {ours: [], theirs: []}
    for turn in range(repeats + 3):
        for call, found in times.items():
            torch.distributed.barrier()
            start = perf_counter()
            for _ in range(steps):
                call()
            taken = torch.tensor((perf_counter() - start) / steps * 1e9, dtype=torch.float64)
            torch.distributed.all_reduce(taken, torch.distributed.ReduceOp.MAX)
            if turn >= 3:
                found.append(float(taken))
    fastest, reference = min(times[ours]), min(times[theirs])
    median = statistics.median(a / b for a, b in zip(times[ours], times[theirs], strict=True))
    return Row(name, fastest, reference, fastest / reference, median, None if name.endswith("alone") else GOAL)


def _start(engine: str, repeats: int, chosen: list[str]) -> list[Row]:
    """Start two processes, and return the rows that they have measured."""
    with tempfile.TemporaryDirectory() as folder:
        program = [__file__, "--inside", folder, "--repeats", str(repeats), "--programs", *chosen, "--", engine]
        if engine == "mpi":
            folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
            as_root = ["--allow-run-as-root"] if not os.geteuid() else []
            start = [shutil.which("mpirun", path=folders) or "mpirun", *_MPIRUN, *as_root, sys.executable]
        else:
            start = [sys.executable, "-m", "torchlike.distributed.run", "--nproc-per-node", "2"]
        # Torch's gloo asks for the address of the machine's name otherwise, which not every one has.
        given = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        subprocess.run([*start, *program], check=True, env=given)
        return [Row(**each) for each in json.loads(Path(folder, "rows.json").read_text(encoding="utf-8"))]


def main() -> None:
    """Print a row for each engine and program, beside the same step without a group."""
    options = parser(__doc__)
    options.add_argument("engines", nargs="*", default=ENGINES, help="mpi, gloo; both without")
    options.add_argument("--programs", nargs="*", default=[], help="beginnings of the programs to measure")
    options.add_argument("--inside", help="the folder of the results, in one of the two processes")
    given = options.parse_args()
    if given.inside:
        _measure_here(given.engines[0], given.inside, given.repeats, given.programs)
        return
    rows = [row for engine in given.engines for row in _start(engine, given.repeats, given.programs)]
    print(report(rows, given.json))


if __name__ == "__main__":
    main()
