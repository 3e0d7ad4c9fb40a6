"""Runs benchmarks and keeps their figures for the site, without those of the machine: ``python benchmarks/collect.py``.

It writes ``benchmarks/results.json``: ratios to torch's time, the versions that they are of, and the day. Arguments are the
names of benchmarks to run again; the figures of the others stay.
"""

from __future__ import annotations

import datetime as dt
import json
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
RESULTS: Final = HERE / "results.json"
#: Benchmark → its options beside ``--json``.
RUNS: Final = {"calls": (), "steps": ("--repeats", "9"), "breadth": ("--repeats", "3")}
VERSIONS: Final = ("dispatch-core", "numpy", "torch")


def collect(name: str) -> dict[str, Any]:
    """Return the day, the versions and the rows of a benchmark, which runs in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        script = HERE / f"bench_{name}.py"
        subprocess.run([sys.executable, str(script), *RUNS[name], "--json", str(path)], check=True)
        rows = json.loads(path.read_text(encoding="utf-8"))
    kept = [
        {
            "name": " ".join(row["name"].split()),
            "group": row["group"],
            "ratio": float(f"{row['ratio']:.3g}"),
            "goal": row["goal"],
        }
        for row in rows
    ]
    versions = {"Python": platform.python_version()} | {each: version(each) for each in VERSIONS}
    day = dt.datetime.now(tz=dt.UTC).date().isoformat()
    return {"day": day, "versions": versions, "options": " ".join(RUNS[name]), "rows": kept}


def main() -> None:
    """Run the benchmarks that the arguments name, all without any, and write the file."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in sys.argv[1:] or RUNS:
        results[name] = collect(name)
        lines = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False)
        RESULTS.write_text(f"{lines}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
