"""Calls with the compiled packages and without, each beside torch: ``python benchmarks/bench_native.py [SCRIPT ...]``.

Each script (``calls``, ``breadth``, ``steps``) runs in a process with ``DISPATCH_NATIVE=0`` and in one without the variable,
in turns, because the packages are chosen when they are loaded. A row has the least ratio to torch of each.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import list_built, parser

HERE = Path(__file__).parent


def _measure(script: str, switch: str, repeats: int) -> list[dict[str, Any]]:
    """Return the rows of a script, run with or without the compiled packages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.json")
        command = [sys.executable, str(HERE / f"bench_{script}.py"), "--repeats", str(repeats), "--json", str(path)]
        environment = {**os.environ, "DISPATCH_NATIVE": switch}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _table(pure: Sequence[dict[str, float]], compiled: Sequence[dict[str, float]], groups: dict[str, str]) -> str:
    """Return the rows' least ratios, and the geometric means of their groups."""
    least = [{name: min(run[name] for run in runs if name in run) for name in runs[0]} for runs in (pure, compiled)]
    names = [name for name in least[0] if name in least[1]]
    width = max(map(len, names))
    lines = [f"{'measure':<{width}} {'pure':>7} {'with':>7}"]
    lines += [f"{name:<{width}} {least[0][name]:>7.3f} {least[1][name]:>7.3f}" for name in names]
    lines.append("")
    kinds = dict.fromkeys(groups[name] for name in names)
    shown = {group: [name for name in names if groups[name] == group] for group in kinds if group} | {"all": names}
    for group, members in shown.items():
        means = [statistics.geometric_mean([max(ratios[name], 1e-6) for name in members]) for ratios in least]
        lines.append(f"{group:<{width}} {means[0]:>7.3f} {means[1]:>7.3f}")
    return "\n".join(lines)


def main() -> None:
    """Print a table for each script."""
    options = parser(__doc__, repeats=5)
    options.add_argument("scripts", nargs="*", default=["calls"], help="calls, breadth or steps")
    options.add_argument("--turns", type=int, default=2, help="how often each of the two processes runs")
    given = options.parse_args()
    built = list_built()
    if not built:
        print("no compiled package is built: see packages/backend-cpu-native")
        return
    print(f"with {', '.join(built)}\n")
    tables = {}
    for script in given.scripts:
        runs: dict[str, list[dict[str, float]]] = {"0": [], "1": []}
        groups: dict[str, str] = {}
        for _ in range(given.turns):
            for switch, found in runs.items():
                rows = _measure(script, switch, given.repeats)
                found.append({row["name"]: row["ratio"] for row in rows})
                groups |= {row["name"]: row["group"] for row in rows}
        print(_table(runs["0"], runs["1"], groups))
        tables[script] = runs
    if given.json is not None:
        given.json.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
