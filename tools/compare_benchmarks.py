"""Compare two versions' benchmarks: ``python tools/compare_benchmarks.py OLD NEW``, each a git revision or a folder.

The versions take turns in processes of their own, and the old one runs twice each time: its second run beside its first
shows the machine's noise. Of each row the least time of all turns counts. Both run the new version's scripts from
``benchmarks/``. Their packages lie in one folder, as installed ones do, which stands first on the path; what else they need
comes from the environment that runs this tool, the entry points of plugins included. A script takes ``--json`` and
``--repeats``, as ``benchmarks/harness.py`` has them.

Printed are, for each script and each group of its rows, the geometric mean of new to old, every row above the limit, and the
same figures of old to old. The status is 1 where a group's mean or a row is above its limit.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SCRIPTS: Final = ("bench_calls", "bench_breadth", "bench_steps", "bench_start", "bench_layers")

#: Group and name of a row → the least nanoseconds of a call.
Times = dict[tuple[str, str], float]

_FIND_SOURCES: Final = (
    "import importlib.util as u, sys; print(*[u.find_spec(name).origin for name in sys.argv[1:]], sep='\\n')"
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One script's rows: the ratios of the new version's times to the old one's, and of the old one's to its own."""

    script: str
    old: Times
    ratios: Mapping[tuple[str, str], float]
    noise: Mapping[tuple[str, str], float]

    def means(self, ratios: Mapping[tuple[str, str], float]) -> dict[str, float]:
        """Return the geometric mean of each group's ratios."""
        groups = dict.fromkeys(group for group, _ in ratios)
        return {
            group: statistics.geometric_mean(ratio for (other, _), ratio in ratios.items() if other == group)
            for group in groups
        }

    def is_within(self, mean: float, row: float) -> bool:
        """Return whether every group's geometric mean and every row stay under their limits."""
        return max(self.means(self.ratios).values()) <= mean and max(self.ratios.values()) <= row

    def describe(self, row: float) -> Iterator[str]:
        """Yield the lines of the report: the means, then each row above the limit, the worst first."""
        mean, noise = (statistics.geometric_mean(each.values()) for each in (self.ratios, self.noise))
        loud = sum(ratio > row for ratio in self.noise.values())
        yield (
            f"{self.script}: geometric mean {mean:.3f} of {len(self.ratios)} rows (old/old {noise:.3f}); above {row:.2f}: "
            f"{sum(ratio > row for ratio in self.ratios.values())} (old/old {loud})"
        )
        again = self.means(self.noise)
        for group, each in self.means(self.ratios).items():
            if group:
                yield f"  {each:6.3f}  (old/old {again[group]:.3f})  geometric mean of {group}"
        for key, ratio in sorted(self.ratios.items(), key=lambda item: -item[1]):
            if ratio > row:
                old, name = self.old[key], ": ".join(filter(None, key))
                yield f"  {ratio:6.3f}  (old/old {self.noise[key]:.3f})  {old:,.0f} → {old * ratio:,.0f} ns  {name}"


def find_tree(version: str, folder: Path) -> Path:
    """Return the folder with a version's sources: ``version`` itself, or a revision's files, written below ``folder``."""
    if Path(version).is_dir():
        return Path(version).resolve()
    command = [shutil.which("git") or "git", "archive", version]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if shown.returncode:
        raise SystemExit(f"{version!r} is not a folder, and git says: {shown.stderr.decode().strip()}")
    tree = folder / version.replace("/", "-")
    with tarfile.open(fileobj=io.BytesIO(shown.stdout)) as archive:
        archive.extractall(tree, filter="data")
    return tree


def make_environment(tree: Path, folder: Path) -> dict[str, str]:
    """Return the variables under which a process imports the packages of ``tree``; exit where it would import others.

    They are copied to ``folder``: with an entry of the path for each, imports would cost more the more packages there are.
    """
    for source in sorted(tree.glob("packages/*/src")):
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    # Compiled modules are kept, as users' are: else an import is mostly the compiler.
    env = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
    names = [path.parent.name for path in sorted(folder.glob("*/__init__.py"))]
    found = subprocess.run(
        [sys.executable, "-c", _FIND_SOURCES, *names], env=env, capture_output=True, check=True, text=True
    ).stdout.split("\n")
    strange = [origin for origin in found if origin and not Path(origin).is_relative_to(folder)]
    if strange:
        raise SystemExit(f"the packages of {tree} are hidden by others: {', '.join(strange)}")
    return env


def measure(script: Path, env: Mapping[str, str], options: Sequence[str], best: Times) -> None:
    """Run a script once, and lower the times in ``best`` by its rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        command = [sys.executable, str(script), "--json", str(path), *options]
        ended = subprocess.run(command, env=dict(env), capture_output=True, check=False, text=True)
        if ended.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr}")
        for row in json.loads(path.read_text(encoding="utf-8")):
            key = row.get("group", ""), row["name"]
            best[key] = min(row["ours"], best.get(key, row["ours"]))


def compare(script: Path, environments: Sequence[Mapping[str, str]], times: int, options: Sequence[str]) -> Comparison:
    """Return one script's comparison of the old and the new version, whose environments are given."""
    old, new = environments
    runs: list[tuple[Mapping[str, str], Times]] = [(old, {}), (new, {}), (old, {})]
    for turn in range(times):
        for step in range(len(runs)):
            env, best = runs[(turn + step) % len(runs)]  # none is always the first
            measure(script, env, options, best)
    first, found, again = (best for _, best in runs)
    # A time from which another's was subtracted can be zero or less; it has no ratio.
    shared = [name for name in first if all(each.get(name, 0) > 0 for each in (first, found, again))]
    if not shared:
        raise SystemExit(f"{script.stem}: the two versions have no row in common")
    ratios, noise = ({name: each[name] / first[name] for name in shared} for each in (found, again))
    return Comparison(script.stem, first, ratios, noise)


def _read_arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="a git revision, or a folder with packages/")
    parser.add_argument("new", help="a git revision, or a folder with packages/ and benchmarks/")
    parser.add_argument("--scripts", nargs="+", default=SCRIPTS, metavar="NAME", help=f"(default: {' '.join(SCRIPTS)})")
    parser.add_argument("--times", type=int, default=5, help="turns of each version (default: 5)")
    parser.add_argument("--repeats", help="samples of each row in a turn (default: the script's own)")
    parser.add_argument(
        "--mean", type=float, default=1.03, help="the limit of a group's geometric mean (default: 1.03)"
    )
    parser.add_argument("--row", type=float, default=1.10, help="the limit of a row (default: 1.10)")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Compare, print each script's lines as soon as they are there, and return the status."""
    arguments = _read_arguments(given)
    options = ["--repeats", arguments.repeats] if arguments.repeats else []
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        old, new = (find_tree(version, Path(folder)) for version in (arguments.old, arguments.new))
        environments = [
            make_environment(tree, Path(folder, name))
            for tree, name in ((old, "installed-old"), (new, "installed-new"))
        ]
        for name in arguments.scripts:
            script = new / "benchmarks" / f"{name.removesuffix('.py')}.py"
            if not script.is_file():
                raise SystemExit(
                    f"no script {script}; there are {', '.join(p.stem for p in script.parent.glob('*.py'))}"
                )
            found = compare(script, environments, arguments.times, options)
            sys.stdout.write("\n".join([*found.describe(arguments.row), ""]))
            sys.stdout.flush()
            status |= not found.is_within(arguments.mean, arguments.row)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
