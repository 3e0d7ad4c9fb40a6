"""Memory and time of checkpoints beside torch's: ``python benchmarks/bench_files.py``.

500 MB in 20 cpu tensors are saved and loaded, by torch in its zip files, by us in ours, and torch's by us. Memory is the
growth of the peak of a fresh process, in parts of the 500 MB; time the least of some runs, beside torch's.
Saving to a path waits until the disk has the file, which torch's does not. Only Linux measures a new peak.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import parser

_COUNT, _SIZE = 20, 25_000_000
_MEASURE = f"""
import sys, time
library, call, path = sys.argv[1:]
torch = __import__(library)

def highest():
    with open("/proc/self/status") as file:
        (line,) = (line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024

names = [f"x{{number}}" for number in range({_COUNT} if call == "save" else 0)]
state = {{name: torch.full(({_SIZE // 4},), 1.0) for name in names}}
torch.save({{"x": torch.ones(2)}}, path + ".small")
torch.load(path + ".small", mmap=call == "mmap")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before, started = highest(), time.perf_counter()
kept = torch.save(state, path) if call == "save" else torch.load(path, mmap=call == "mmap")
seconds = time.perf_counter() - started
print((highest() - before) / {_COUNT * _SIZE}, seconds)
"""
#: What is measured → library, call, the file's name, and the goal for memory.
_ROWS = {
    "save": ("torchlike", "save", "ours", 0.1),
    "save, torch's": ("torch", "save", "torchs", None),
    "load": ("torchlike", "load", "ours", 1.1),
    "load torch's file": ("torchlike", "load", "torchs", 1.1),
    "load, torch's": ("torch", "load", "torchs", None),
    "load with mmap=True": ("torchlike", "mmap", "ours", None),
    "load torch's file with mmap=True": ("torchlike", "mmap", "torchs", None),
    "load with mmap=True, torch's": ("torch", "mmap", "torchs", None),
}
_ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def _measure(library: str, call: str, path: Path) -> tuple[float, float]:
    command = [sys.executable, "-c", _MEASURE, library, call, str(path)]
    done = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, check=True)
    memory, seconds = map(float, done.stdout.split())
    return memory, seconds


def main() -> None:
    """Print all rows, and write them where ``--json`` says."""
    options = parser(__doc__, repeats=5).parse_args()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in _ROWS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.repeats):
            for name, (library, call, file, _) in _ROWS.items():
                found[name].append(_measure(library, call, Path(folder) / file))
    rows = []
    print(f"{'':34} memory  goal   seconds   of torch's")
    for name, (_, call, _, goal) in _ROWS.items():
        memory, seconds = (min(values) for values in zip(*found[name], strict=True))
        (theirs,) = (other for other, (its, same, _, _) in _ROWS.items() if its == "torch" and same == call)
        ratio = seconds / min(value for _, value in found[theirs])
        print(f"{name:34} {memory:6.2f} {'' if goal is None else goal:>5} {seconds:9.3f} {ratio:12.4}")
        rows.append({"name": name, "memory": memory, "goal": goal, "seconds": seconds, "ratio": ratio})
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
