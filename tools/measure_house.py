"""Measure how much a reader has to hold in mind: ``python tools/measure_house.py [TREE]``.

Printed are the sizes of the packages below ``TREE`` (a folder; default: this checkout), then each figure beside its aim.
``--json`` prints the same as data, ``--compare REVISION`` adds the figures of a git revision, ``--imports`` the times of
imports beside NumPy's, which take half a minute.

The forms, executors, writers of guards and ways to choose a kernel are counted by the tables of names below. A name counts
while the sources define it; one that is renamed is renamed here, and one that has gone is moved to ``GONE``.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from compare_benchmarks import find_tree

ROOT: Final = Path(__file__).resolve().parents[1]
SEED: Final = 0
CORE: Final = "dispatch_core"
PIPELINES: Final = ("dispatch_core", "dispatch_pipelines")

#: The forms in which a recorded call is kept → the class or type alias that has it, in the core or the pipelines.
FORMS: Final = {
    "RecordedCall": "the recorder's tuple",
    "Step": "a step of the queue",
    "Node": "a node of a program",
    "WrittenCall": "a call of a captured run, as two runs are compared",
    "Call": "a call of a graph",
    "DrawnStep": "a step of a picture",
}
#: The functions and classes that execute recorded calls.
EXECUTORS: Final = {
    "PlanRun": "a plan, part by part",
    "_run_step": "a step alone",
    "_one_kernel": "a plan's part of one kernel",
    "Node.run": "a node: for planners, plans without a planned step, steps alone, graphs, and finding a call that fails",
    "ReplayWriter": "generated replays of captured calls",
    "PartOfReplay": "a part of a replay, as a profile measures it",
}
GUARD_WRITERS: Final = {
    "_GuardWriter": "guards of plans",
    "GuardWriter": "the lines of guards",
}
#: What decides which function serves a call: definitions and, with a dot, attributes of a class. The fast paths of cpu's
#: kernels (`attempt`) are none: the dispatcher knows one function under one registration, and its text asks one condition
#: before it calls NumPy, as other kernels' do. Nothing registers, explains, hides or orders the two parts.
CHOICES: Final = {
    "compute_slot": "torch's table of keys",
    "Candidate": "the list of candidates for a mask",
    "give_way": "overloads that leave calls to others",
    "Registration.when": "kernels for one value of an argument",
    "ShortWay": "short ways of composites",
    "KernelProvider": "alternatives of other distributions",
}
#: Those that are kinds of candidates, and decide nothing by themselves, where there is a list.
CANDIDATES: Final = frozenset({"give_way", "Registration.when", "ShortWay", "KernelProvider"})
#: Attributes of function objects by which the parts of a call find each other.
ATTRIBUTES: Final = (
    "_dispatch_traceable answers_for_results body cache_key choice doubts inlined is_exact is_first is_watched remembers"
    " runs_at_once serves stands_for"
).split()
#: Names of the tables above that the sources define no longer.
GONE: Final = frozenset(
    {"WrittenCall", "_GuardWriter", "_one_kernel", "PartOfReplay", "DrawnStep", "Call", "_run_step"}
)

_FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCHEMA: Final = re.compile(r'(?<!def )(?<![\w.])([a-z_]\w*)(?:\.\w+)?\([^()"]*(?:\([^()]*\)[^()"]*)*\) -> ')
_WHAT: Final = re.compile(r"\bwhat (is|it|they|was|are|its|a|an|the|has)\b", re.IGNORECASE)
_HOUSING: Final = re.compile(r"\b(rooms?|floors?)\b", re.IGNORECASE)
#: Space, and the operator.
_OTHER_ROOM: Final = re.compile(
    r"\b(make|makes|no|has|have|is|leave|leaves|more) room\b|[`\"]+floor\w*[`\"]+|[\w.]\.floor\b|floor\("
)

_ENTERED: Final = """
import sys, torchlike
x, y = torchlike.ones(3), torchlike.ones(3)
def count(statement):
    entered = set()
    def note(frame, event, arg):
        if event == "call":
            entered.add(frame.f_globals.get("__name__", ""))
    sys.setprofile(note)
    try:
        statement()
    finally:
        sys.setprofile(None)
    return sum(name.partition(".")[0] in sys.argv[1:] for name in entered)
"""
FIRST_ADD: Final = _ENTERED + "print(count(lambda: torchlike.add(x, y)))"
FIRST_GRADIENT: Final = _ENTERED + "x.requires_grad_()\nprint(count(lambda: (x * x).sum().backward()))"
_TIMED: Final = "{}import time; started = time.perf_counter(); {}; print(time.perf_counter() - started)"


@dataclass(frozen=True)
class Source:
    """A module of a package: its path from the tree, the parts of that from ``src``, and its text."""

    path: Path
    module: tuple[str, ...]
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.text.count("\n")

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions, methods and inner functions."""
        return [node for node in ast.walk(self.tree) if isinstance(node, _FUNCTION)]

    @cached_property
    def docstrings(self) -> list[ast.Expr]:
        """The statements that are docstrings."""
        return [
            node.body[0]
            for node in ast.walk(self.tree)
            if isinstance(node, (*_FUNCTION, ast.ClassDef, ast.Module)) and ast.get_docstring(node, clean=False)
            if isinstance(node.body[0], ast.Expr)
        ]

    @cached_property
    def names(self) -> set[str]:
        """What the module defines: functions, classes and their members by ``Class.member``, and type aliases."""
        found = set()
        for node in ast.walk(self.tree):
            if isinstance(node, (*_FUNCTION, ast.ClassDef)):
                found.add(node.name)
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    if isinstance(each, _FUNCTION):
                        found.add(f"{node.name}.{each.name}")
                    elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                        found.add(f"{node.name}.{each.target.id}")
        for node in self.tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            found.update(each.id for each in targets if isinstance(each, ast.Name))
        return found


class House:
    """The sources below a folder, and what is counted in them."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.folders = sorted(self.root.glob("packages/*/src"))
        if not self.folders:
            raise SystemExit(f"{root} has no packages/*/src")
        self.sources = [
            Source(path.relative_to(self.root), path.relative_to(folder).parts, path.read_text(encoding="utf-8"))
            for folder in self.folders
            for path in sorted(folder.rglob("*.py"))
        ]
        self.core = [each for each in self.sources if each.module[0] == CORE]

    def count_named(self, table: dict[str, str], packages: Sequence[str]) -> int:
        """Return how many of a table's names the packages define."""
        defined = set().union(*(each.names for each in self.sources if each.module[0] in packages))
        return len(defined & {*table})

    def missing(self) -> dict[str, list[str]]:
        """Return the names of the tables that no module defines, and that are not listed as gone."""
        every = set().union(*(each.names for each in self.sources)) | GONE
        tables = {"forms": FORMS, "executors": EXECUTORS, "guard writers": GUARD_WRITERS, "choices": CHOICES}
        return {name: lost for name, table in tables.items() if (lost := sorted({*table} - every))}


def measure_sizes(house: House) -> dict[str, str]:
    """Return the row of sizes, as the other projects' stand in the plan."""
    sources, total = house.sources, sum(each.lines for each in house.sources)
    lengths = sorted(node.end_lineno - node.lineno for each in sources for node in each.functions if node.end_lineno)
    percentiles = "/".join(str(lengths[int(len(lengths) * share)]) for share in (0.5, 0.9, 0.99)) if lengths else "–"
    texts = sum(node.end_lineno - node.lineno + 1 for each in sources for node in each.docstrings if node.end_lineno)
    comments = sum(line.lstrip().startswith("#") for each in sources for line in each.text.splitlines())
    tests = [path for pattern in ("packages/*/tests", "tests") for path in house.root.glob(f"{pattern}/**/*.py")]
    tested = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in tests)
    return {
        "files": f"{len(sources):,}",
        "lines": f"{total:,}",
        "files over 400 lines": str(sum(each.lines > 400 for each in sources)),
        "functions p50/p90/p99": percentiles,
        "docstrings + comments": f"{(texts + comments) / total:.0%}",
        "`Any` lines of the core, one per … functions": _show(functions_per_any(house)),
        "tests ÷ source": f"{tested / total:.2f}",
    }


def functions_per_any(house: House) -> float:
    """Return how many functions the core has for each line that annotates something as ``Any`` and nothing more."""
    lines = sum(bool(re.search(r"(: |-> )Any\b", line)) for each in house.core for line in each.text.splitlines())
    return sum(len(each.functions) for each in house.core) / max(1, lines)


def count_lines(house: House) -> str:
    """Return the lines of all packages, and those of the core, in thousands."""
    return " / ".join(f"{sum(each.lines for each in sources) / 1e3:.1f}k" for sources in (house.sources, house.core))


def count_large_folders(house: House) -> int:
    """Return how many folders have more than 20 modules, ``__init__`` among them."""
    parents = [each.path.parent for each in house.sources]
    return sum(parents.count(folder) > 20 for folder in {*parents})


def files_of_an_operator(house: House, draws: int = 200) -> float:
    """Return in how many files an operator's name stands, the median of drawn names of at least five letters."""
    paths = [path for folder in house.folders for path in sorted(folder.rglob("*")) if path.is_file()]
    kept = (path for path in paths if path.suffix not in {".pyi", ".pyc"})
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in kept}
    library = [text for path, text in texts.items() if "dispatch_aten" in path.parts]
    names = {name.rstrip("_") for text in library for name in _SCHEMA.findall(text)}
    long = sorted(name for name in names if len(name) >= 5)
    drawn = random.Random(SEED).sample(long, min(draws, len(long)))
    words = [set(re.findall(r"\w+", text)) for text in texts.values()]
    return statistics.median(sum(name in each or f"{name}_" in each for each in words) for name in drawn or [""])


def count_forms(house: House) -> str:
    """Return how many forms, executors and writers of guards a recorded call has."""
    return " / ".join(str(house.count_named(table, PIPELINES)) for table in (FORMS, EXECUTORS, GUARD_WRITERS))


def count_choices(house: House) -> str:
    """Return how many mechanisms choose a kernel, and how many attributes are set on functions for it."""
    where = [each for each in house.sources if each.module[0] != "torchlike"]
    packages = sorted({each.module[0] for each in where})
    found = {name for each in where for name in set_attributes(each)}
    has_list = house.count_named({"Candidate": ""}, packages)
    counted = {name: text for name, text in CHOICES.items() if not (has_list and name in CANDIDATES)}
    return f"{house.count_named(counted, packages)} / {len(found)}"


def set_attributes(source: Source) -> Iterator[str]:
    """Yield the names of `ATTRIBUTES` that a module sets on something that a plain name holds."""
    for node in ast.walk(source.tree):
        targets: list[Any] = node.targets if isinstance(node, ast.Assign) else []
        for target in [part for each in targets for part in getattr(each, "elts", [each])]:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id != "self":
                yield from {target.attr} & {*ATTRIBUTES}
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
            yield from {ast.unparse(node.args[1]).strip("'")} & {*ATTRIBUTES}


def count_concepts(house: House) -> int:
    """Return the concepts of one call: the terms in bold, and the modules, that its section in the architecture names."""
    path = house.root / "docs" / "architecture.md"
    found = re.search(r"^## One call.*?\n(.*?)(?=^## |\Z)", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if found is None:
        raise SystemExit(f"{path} has no section that begins with '## One call'")
    named = {each for each in re.findall(r"`([^`\s]+)`", found[1]) if "/" in each or each.endswith(".py")}
    return len({*re.findall(r"\*\*(.+?)\*\*", found[1])} | named)


def count_private_entries(house: House) -> int:
    """Return how often modules outside the core use ``._entry``."""
    outside = [each.text for each in house.sources if each.module[0] not in PIPELINES]
    return sum(len(re.findall(r"\._entry\b", text)) for text in outside)


def count_entered(house: House) -> str:
    """Return how many of our modules the first ``add`` enters, and the first backward of a sum of squares."""
    packages = sorted({each.module[0] for each in house.sources})
    return " / ".join(_run(house, code, *packages).strip() for code in (FIRST_ADD, FIRST_GRADIENT))


def _docstrings(house: House) -> list[str]:
    return [
        str(node.value.value)
        for each in house.sources
        for node in each.docstrings
        if isinstance(node.value, ast.Constant)
    ]


def what_clauses(house: House) -> float:
    """Return the clauses with "what" in 1,000 words of docstrings."""
    texts = _docstrings(house)
    return 1e3 * sum(len(_WHAT.findall(text)) for text in texts) / max(1, sum(len(text.split()) for text in texts))


def count_odd_beginnings(house: House) -> int:
    """Return how many docstrings begin with Let, Have or See."""
    return sum(text.split()[:1] in (["Let"], ["Have"], ["See"]) for text in _docstrings(house))


def count_housing(house: House) -> int:
    """Return how often docstrings, comments and names of modules say room or floor, but for space and the operator."""
    comments = [line.lstrip() for each in house.sources for line in each.text.splitlines() if line.lstrip()[:1] == "#"]
    names = [part.replace("_", " ") for each in house.sources for part in each.module]
    texts = (_OTHER_ROOM.sub("", text) for text in [*_docstrings(house), *comments, *names])
    return sum(len(_HOUSING.findall(text)) for text in texts)


def time_imports(house: House, turns: int = 15) -> str:
    """Return the least time of ``import dispatch_core``, and of torchlike beyond NumPy, to that of ``import numpy``."""
    codes = [
        _TIMED.format("", "import numpy"),
        _TIMED.format("", "import dispatch_core"),
        _TIMED.format("import numpy, numpy.random; ", "import torchlike"),
    ]
    times = [[float(_run(house, code)) for code in codes] for _ in range(turns)]
    numpy, core, torchlike = (min(column) for column in zip(*times, strict=True))
    return f"{core / numpy:.2f} / {torchlike / numpy:.2f}"


def _run(house: House, code: str, *arguments: str) -> str:
    """Return the output of a process that imports the tree's packages."""
    paths = os.pathsep.join(map(str, house.folders))
    env = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}  # as users import
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, check=False, text=True)
    if done.returncode:
        raise SystemExit(f"a process that imports the packages of {house.root} failed:\n{done.stderr}")
    return done.stdout


# --- The table ------------------------------------------------------------------------------------------------------

#: What is counted, its aim, and the function that does.
ROWS: Final[tuple[tuple[str, str, Callable[[House], object]], ...]] = (
    ("lines, all packages / `dispatch_core`", "≤ 135k / ≤ 19k", count_lines),
    ("folders over 20 modules", "0", count_large_folders),
    ("files with an operator's name, median of 200", "≤ 6", files_of_an_operator),
    ("forms of a recorded call / executors / guard writers", "3 / 2 / 1", count_forms),
    ("mechanisms that choose a kernel / attributes on functions", "2 / 0", count_choices),
    ("concepts for one call", "≤ 18", count_concepts),
    ("`._entry` outside the core", "0", count_private_entries),
    ("modules entered by the first add / the first gradient", "≤ 40 / ≤ 80", count_entered),
    ("functions of the core per line with `Any`", "≥ 12", functions_per_any),
    ('"what…" clauses in 1,000 words of docstrings', "≤ 0.8", what_clauses),
    ("docstrings that begin with Let, Have, See", "0", count_odd_beginnings),
    ("rooms and floors that are packages or modules", "0", count_housing),
)
IMPORTS: Final = ("`import dispatch_core` / torchlike beyond NumPy, to `import numpy`", "≤ 0.40 / ≤ 0.80", time_imports)


def measure(root: Path, *, imports: bool = False) -> dict[str, Any]:
    """Return the sizes and the figures of the packages below a folder."""
    house = House(root)
    rows = [*ROWS, IMPORTS] if imports else ROWS
    return {"sizes": measure_sizes(house), "figures": {name: _show(count(house)) for name, _, count in rows}}


def _show(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def as_tables(now: dict[str, Any], before: dict[str, Any] | None, revision: str) -> str:
    """Return both tables in Markdown, with a column for an older revision where there is one."""
    columns = [now] if before is None else [before, now]
    heads = ["now"] if before is None else [revision, "now"]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "--:|" * len(heads)]
    lines += [f"| {name} | {' | '.join(each['sizes'][name] for each in columns)} |" for name in now["sizes"]]
    lines += ["", f"| | {' | '.join(heads)} | aim |", "|---|" + "--:|" * (len(heads) + 1)]
    aims = {name: aim for name, aim, _ in (*ROWS, IMPORTS)}
    lines += [
        f"| {name} | {' | '.join(each['figures'][name] for each in columns)} | {aims[name]} |"
        for name in now["figures"]
    ]
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "tree", type=Path, nargs="?", default=ROOT, help="a folder with packages/ (default: this checkout)"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--compare", metavar="REVISION", help="also measure a git revision of this repository")
    parser.add_argument("--imports", action="store_true", help="also time imports, beside NumPy's")
    arguments = parser.parse_args(given)
    now, before = measure(arguments.tree, imports=arguments.imports), None
    if arguments.compare:
        with tempfile.TemporaryDirectory() as folder:
            before = measure(find_tree(arguments.compare, Path(folder)), imports=arguments.imports)
    if arguments.json:
        text = json.dumps({"now": now} | ({arguments.compare: before} if before else {}), indent=1, ensure_ascii=False)
    else:
        text = as_tables(now, before, str(arguments.compare))
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
