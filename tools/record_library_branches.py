"""Writes ``library_branches.txt`` of torchlike's tests: what libraries ask torch for before they choose a way.

python tools/record_library_branches.py           # where the libraries and torch are installed: writes the table
python tools/record_library_branches.py --check   # fails where it is out of date

The sources of the libraries of ``library_jobs/jobs.toml`` are read, not run: each ``hasattr(torch…, name)``, each import of
torch's in a ``try`` with an ``except ImportError`` or its like, and each ``is_available()`` of torch's. A row has the
question, torch's answer, torchlike's under ``python -m torchlike run``, and the libraries. Where they differ, the test of
the table has the reason.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
JOBS: Final = ROOT / "tools" / "library_jobs" / "jobs.toml"
TESTS: Final = ROOT / "packages/frontend-torchlike/tests"
TABLE: Final = TESTS / "library_branches.txt"
HEAD: Final = """\
What libraries ask torch {version} for before they choose a way, by tools/record_library_branches.py: the question, torch's
answer and torchlike's, the libraries.

"""
#: Names by which files call modules of torch without an import that says so.
_USUAL: Final = {"torch": "torch"}
#: Errors that a file catches where it imports something that may be missing.
_CAUGHT: Final = re.compile(r"ImportError|ModuleNotFoundError|AttributeError|\bException\b|RuntimeError")

sys.path.insert(0, str(TESTS))
from test_library_branches import ASK  # noqa: E402  # the test asks in the same way


def list_sources() -> Iterator[tuple[str, Path]]:
    """Yield the files of each library, tests left out."""
    for library in tomllib.loads(JOBS.read_text(encoding="utf-8"))["libraries"]:
        for file in metadata.files(library) or ():
            if file.suffix == ".py" and not re.search(r"(^|/)(tests?|testing|examples?|docs|benchmarks?)/", str(file)):
                yield library, Path(str(file.locate()))


def list_questions(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the questions of a file: their kind, and the path in torch."""
    names = dict(_USUAL)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.asname: each.name for each in node.names if each.asname and each.name.startswith("torch.")}
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "torch":
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}

    def spell(expression: Any) -> str | None:
        if isinstance(expression, ast.Name):
            return names.get(expression.id)
        owner = spell(expression.value) if isinstance(expression, ast.Attribute) else None
        return None if owner is None else f"{owner}.{expression.attr}"

    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and function.id == "hasattr" and len(node.args) == 2:
                owner, name = spell(node.args[0]), node.args[1]
                if owner is not None and isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield "hasattr", f"{owner}.{name.value}"
            elif isinstance(function, ast.Attribute) and function.attr == "is_available" and not node.args:
                path = spell(function)
                if path is not None:
                    yield "ask", path
        elif isinstance(node, ast.Try):
            caught = " ".join(ast.unparse(each.type) if each.type else "Exception" for each in node.handlers)
            if _CAUGHT.search(caught):
                yield from _list_imports(node)


def _list_imports(node: ast.Try) -> Iterator[tuple[str, str]]:
    for each in node.body:
        if isinstance(each, ast.Import):
            yield from (("import", alias.name) for alias in each.names if alias.name.partition(".")[0] == "torch")
        elif isinstance(each, ast.ImportFrom) and not each.level and (each.module or "").partition(".")[0] == "torch":
            yield "import", f"{each.module}:{','.join(sorted(alias.name for alias in each.names))}"


def ask(command: list[str], questions: list[tuple[str, str]]) -> list[str]:
    """Return the answers of a process that begins with a command."""
    done = subprocess.run([*command, ASK], input=json.dumps(questions), capture_output=True, text=True, check=False)
    if "ANSWERS" not in done.stdout:
        raise RuntimeError(done.stderr)
    found: list[str] = json.loads(done.stdout.rpartition("ANSWERS")[2].splitlines()[0])
    return found


def main() -> int:
    """Write the table, or compare it."""
    users: dict[tuple[str, str], set[str]] = defaultdict(set)
    for library, path in list_sources():
        source = path.read_text(encoding="utf-8", errors="replace")
        if "torch" in source:
            for question in list_questions(ast.parse(source)):
                users[question].add(library)
    questions = sorted(users)
    torch = ask([sys.executable, "-c"], questions)
    ours = ask([sys.executable, "-m", "torchlike", "run", "-c"], questions)
    rows = (
        f"{kind} {path} {first} {second} {','.join(sorted(users[kind, path]))}"
        for (kind, path), first, second in zip(questions, torch, ours, strict=True)
    )
    version = metadata.version("torch").partition("+")[0]
    text = HEAD.format(version=version) + "\n".join(rows) + "\n"
    if "--check" in sys.argv[1:]:
        if TABLE.read_text(encoding="utf-8") != text:
            print(f"{TABLE.name} is out of date: run python tools/record_library_branches.py")  # noqa: T201
            return 1
        return 0
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
