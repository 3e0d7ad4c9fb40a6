"""Runs benchmarks and keeps their figures for the documents: ``python benchmarks/collect.py``.

It writes ``benchmarks/results.json``: ratios to torch's time (of ``dispatch``, to that of other dispatchers), the versions
that they are of, the day, the machine's kind. Where the compiled packages are built, rows of ``BOTH`` also have the ratio
with them, ``compiled``. Arguments are the names of benchmarks to run again; the figures of the others stay.
``python tools/figures.py`` writes them into the pages then.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any, Final

from harness import list_built

HERE: Final = Path(__file__).parent
RESULTS: Final = HERE / "results.json"
#: Benchmark → its options beside ``--json``.
RUNS: Final = {
    "arrays": (),
    "breadth": ("--repeats", "3"),
    "calls": (),
    "dispatch": ("--repeats", "60"),
    "pipeline": (),
    "steps": ("--repeats", "9"),
}
#: Benchmark → the environments that it runs in, one after another; without one, it runs once.
ENVIRONMENTS: Final = {"pipeline": ({"DISPATCH_CPU_JIT": "0"}, {"DISPATCH_CPU_JIT": "10"})}
#: Benchmarks that run without the compiled packages and with them.
BOTH: Final = frozenset({"breadth", "calls", "pipeline", "steps"})
VERSIONS: Final = ("dispatch-core", "jax", "multipledispatch", "numba", "numpy", "plum-dispatch", "torch")


def collect(name: str) -> dict[str, Any]:
    """Return the day, the versions and the rows of a benchmark, which runs in processes of its own."""
    kept = [
        {
            "name": " ".join(row["name"].split()),
            "group": row["group"],
            "ratio": float(f"{row['ratio']:.3g}"),
            "goal": row["goal"],
        }
        for row in _measure(name, DISPATCH_NATIVE="0")
    ]
    if name in BOTH and list_built():
        for row, compiled in zip(kept, _measure(name), strict=True):
            row["compiled"] = float(f"{compiled['ratio']:.3g}")
    machine = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
    installed = {each.name for each in distributions()}
    versions = {"Python": platform.python_version()} | {each: version(each) for each in VERSIONS if each in installed}
    day = dt.datetime.now(tz=dt.UTC).date().isoformat()
    return {"day": day, "machine": machine, "versions": versions, "options": " ".join(RUNS[name]), "rows": kept}


def _measure(name: str, **switches: str) -> list[dict[str, Any]]:
    """Return the rows of a benchmark in each of its environments."""
    rows = []
    for variables in ENVIRONMENTS.get(name, ({},)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.json"
            command = [sys.executable, str(HERE / f"bench_{name}.py"), *RUNS[name], "--json", str(path)]
            subprocess.run(command, check=True, env={**os.environ, **variables, **switches})
            rows += json.loads(path.read_text(encoding="utf-8"))
    return rows


def main() -> None:
    """Run the benchmarks that the arguments name, all without any, and write the file."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in sys.argv[1:] or RUNS:
        results[name] = collect(name)
        lines = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False)
        RESULTS.write_text(f"{lines}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
