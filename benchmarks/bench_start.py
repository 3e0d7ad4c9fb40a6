"""The cost of starting: imports, first steps, and the first look-up of a backend: ``python benchmarks/bench_start.py``.

Each figure is the minimum over fresh processes of one thread, in milliseconds of wall time within the process. First calls
are timed with the import of the library before them: what an import leaves out, the first call does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import parser

_TIMED = "{}\nimport time; started = time.perf_counter()\n{}\nprint((time.perf_counter() - started) * 1e3)"
#: The first training step of the digits' network, with all that it imports, generates and loads; NumPy is there.
_FIRST_STEP = """
import time, numpy
from numpy import random
started = time.perf_counter()
import torchlike
from torchlike import nn
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torchlike.optim.Adam(model.parameters(), lr=3e-3)
images, labels = torchlike.rand(64, 64), torchlike.randint(0, 10, (64,))
prepared = time.perf_counter()
loss = nn.functional.cross_entropy(model(images), labels)
loss.backward()
optimizer.step()
ended = time.perf_counter()
print((prepared - started) * 1e3, (ended - prepared) * 1e3)
"""
#: Programs beside the digits' network, each with the import of torchlike.
_STEPS = {
    "the first addition, of two tensors, with the loading of the cpu backend": "torchlike.ones(3) + torchlike.ones(3)",
    "the first backward, of a sum of products": "x = torchlike.ones(3, requires_grad=True); (x * x).sum().backward()",
    "the first training step of a small convolutional network": """
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
optimizer = torchlike.optim.SGD(net.parameters(), lr=0.1)
images, labels = torchlike.rand(4, 1, 8, 8), torchlike.randint(0, 10, (4,))
nn.functional.cross_entropy(net(images), labels).backward(); optimizer.step()
""",
    "the first training step of a transformer of two layers": """
net = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2)
optimizer = torchlike.optim.SGD(net.parameters(), lr=0.1)
words = torchlike.rand(4, 6, 32)
net(words).square().mean().backward(); optimizer.step()
""",
}
_LOOK_UP = """
import sys, time, timeit, fractions
sys.path.insert(0, {folder!r})
started = time.perf_counter()
import dispatch_core as dc
from dispatch_core.discovery import loader
loader().catalog.usable("dispatch_core.backends", "cpu")
print((time.perf_counter() - started) * 1e3)
loader().array_type_owner(fractions.Fraction)
print(min(timeit.repeat(lambda: loader().array_type_owner(fractions.Fraction), number=1000, repeat=9)))
"""

_ONE_THREAD = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def _least(code: str, repeats: int) -> list[float]:
    """Run ``code`` in fresh processes and return the least of each figure that it prints."""
    runs = []
    for _ in range(repeats):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=_ONE_THREAD)
        runs.append([float(figure) for figure in done.stdout.split()])
    return [min(figures) for figures in zip(*runs, strict=True)]


def main() -> None:
    """Print the table and, where asked, write it as JSON."""
    arguments = parser(__doc__, repeats=9).parse_args()
    figures: dict[str, tuple[float, float | None]] = {}
    for module, goal in {"dispatch_core": 30.0, "numpy": None, "torchlike": None, "torch": None}.items():
        figures[f"import {module}"] = _least(_TIMED.format("", f"import {module}"), arguments.repeats)[0], goal
    beyond = _TIMED.format("import numpy, numpy.random", "import torchlike")
    figures["import torchlike, beyond NumPy"] = _least(beyond, arguments.repeats)[0], 100.0
    made, step = _least(_FIRST_STEP, arguments.repeats)
    figures["the digits' network, optimizer and data, made first"] = made, None
    figures["the digits' first training step"] = step, 8.0
    for name, program in _STEPS.items():
        timed = f"import torchlike\nfrom torchlike import nn\n{program}\n"
        figures[name] = _least(_TIMED.format("import numpy, numpy.random", timed), arguments.repeats)[0], None
    plugin = _TIMED.format("import dispatch_core, dispatch_aten", "import dispatch_backend_npu.plugin")
    figures["import the npu backend, beyond the core and the operators"] = _least(plugin, arguments.repeats)[0], 15.0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(100):
            info = Path(folder, f"unrelated_{number}-1.0.dist-info")
            info.mkdir()
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: unrelated-{number}\nVersion: 1.0\n", encoding="utf-8"
            )
            (info / "entry_points.txt").write_text("[console_scripts]\nunrelated = unrelated:main\n", encoding="utf-8")
        first, later = _least(_LOOK_UP.format(folder=folder), arguments.repeats)
    figures["first look-up of a backend, 100 unrelated distributions"] = first, 60.0
    figures["every later one"] = later, 0.010
    width = max(map(len, figures))
    print(f"{'measure':<{width}} {'ms':>10} {'at most':>8}")
    for name, (found, goal) in figures.items():
        print(f"{name:<{width}} {found:>10.4f} {'' if goal is None else f'{goal:.3f}':>8}")
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {"name": name, "ours": found * 1e6, "goal": goal, "group": ""} for name, (found, goal) in figures.items()
        ]
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
