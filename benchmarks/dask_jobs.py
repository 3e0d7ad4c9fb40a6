"""Jobs on more data than a worker holds: ``python benchmarks/dask_jobs.py --rows 500000 --columns 100``.

Workers of this machine draw the data. Each job is compared with NumPy's values of the same data, which the program computes
chunk by chunk; the table has the seconds of each, and the most memory that a worker took.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import torchlike


def make_data(rows: int, columns: int, chunk: int) -> tuple[Any, Any]:
    """Return a matrix with columns of different sizes and one right-hand side, drawn chunk by chunk."""
    torchlike.manual_seed(0)
    scale = torchlike.linspace(0.5, 2.0, columns, device="dask")
    x = torchlike.randn(rows, columns, device="dask", chunks=(chunk, None)) * scale
    noise = torchlike.randn(rows, device="dask", chunks=chunk)
    return x, x @ torchlike.linspace(-1.0, 1.0, columns, device="dask") + 0.1 * noise


def _number(tensor: Any) -> Any:
    return tensor.cpu().numpy()


def _shuffle(x: Any, y: Any) -> Any:
    torchlike.manual_seed(1)
    mixed = x[torchlike.randperm(len(x), device="dask")]
    return np.stack([_number(mixed.sum(0)), _number((mixed * mixed).sum(0))])


def _median(x: Any, y: Any) -> Any:
    values, places = x.median(0)
    first = int(places[0])
    found = _number(values)
    assert float(x[first, 0]) == found[0]
    return found


#: Job → what torchlike computes on the cluster, and NumPy here; what it may differ by.
JOBS: Final[dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], float]]] = {
    "svdvals": (
        lambda x, y: _number(torchlike.linalg.svdvals(x)),
        lambda x, y: np.sqrt(np.linalg.eigvalsh(x.T.astype(float) @ x)[::-1]),
        1e-4,
    ),
    "lstsq": (
        lambda x, y: _number(torchlike.linalg.lstsq(x, y).solution),
        lambda x, y: np.linalg.solve(x.T.astype(float) @ x, x.T.astype(float) @ y),
        1e-3,
    ),
    "median(0)": (_median, lambda x, y: np.sort(x, axis=0)[(len(x) - 1) // 2], 0),
    "quantile(0.3)": (
        lambda x, y: _number(torchlike.quantile(x[:, :8], 0.3, dim=0)),
        lambda x, y: np.quantile(x[:, :8], 0.3, axis=0),
        1e-5,
    ),
    "x[randperm]": (_shuffle, lambda x, y: np.stack([x.sum(0, dtype=float), (x.astype(float) ** 2).sum(0)]), 1e-3),
    "mean": (lambda x, y: _number(x.mean(0)), lambda x, y: x.mean(0, dtype=float), 1e-3),
    "std": (lambda x, y: _number(x.std(0)), lambda x, y: x.std(0, ddof=1, dtype=float), 1e-4),
    "histc": (
        lambda x, y: _number(x.histc(64, -4, 4)),
        lambda x, y: np.histogram(x, 64, (-4, 4))[0],
        2e-3,
    ),
    "topk": (lambda x, y: _number(x.topk(5, 0)[0]), lambda x, y: -np.sort(-x, axis=0)[:5], 0),
    "unique": (lambda x, y: _number((x * 4).round().long().unique()), lambda x, y: np.unique((x * 4).round()), 0),
    "bincount": (
        lambda x, y: _number((x[:, 0] * 4).abs().long().bincount()),
        lambda x, y: np.bincount(np.abs(x[:, 0] * 4).astype(int)),
        0,
    ),
    "cov": (lambda x, y: _number(torchlike.cov(x.T)), lambda x, y: np.cov(x.T), 1e-3),
    "mask": (lambda x, y: _number(x[x[:, 0] > 1].sum(0)), lambda x, y: x[x[:, 0] > 1].sum(0, dtype=float), 1e-3),
    "pca_lowrank": (
        lambda x, y: _number(torchlike.pca_lowrank(x, q=min(x.shape[1], 24), niter=6)[1])[:1],
        lambda x, y: np.sqrt(np.linalg.eigvalsh(np.cov(x.T) * (len(x) - 1))[::-1])[:1],
        2e-2,
    ),
}


def run_jobs(client: Any, rows: int, columns: int, chunk: int, names: Any = JOBS) -> dict[str, dict[str, float]]:
    """Run jobs on a client's cluster. Raises ``AssertionError`` for a wrong result."""
    x, y = make_data(rows, columns, chunk)
    known = np.concatenate([_number(part) for part in x.split(chunk)]), _number(y)
    found = {}
    for name in names:
        job, check, within = JOBS[name]
        started = time.perf_counter()
        got = job(x, y)
        seconds = time.perf_counter() - started
        wanted = check(*known)
        # Sums are compared with the size of what is added up.
        size = float(np.abs(wanted).max()) + (len(known[0]) if name == "x[randperm]" else 0)
        np.testing.assert_allclose(got, wanted, rtol=within, atol=within * size, err_msg=name)
        memory = max(client.run(_peak).values())
        found[name] = {"seconds": round(seconds, 2), "peak MiB": memory >> 20}
        print(f"{name:<16} {seconds:8.2f} s   peak {memory >> 20} MiB", flush=True)
    return found


def _peak() -> int:
    import resource  # not on Windows, where the workers of this script are not run

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    """Print the table and, where asked, write it as JSON."""
    import distributed

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--chunk", type=int, default=10_000)
    parser.add_argument("--memory-limit", default="400MiB")
    parser.add_argument("--jobs", nargs="*", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=chosen.memory_limit, **options
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = run_jobs(client, chosen.rows, chosen.columns, chosen.chunk, chosen.jobs)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
