"""The measures of the house: each row on small planted trees, and the tables of names on this one."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
CORE = '''"""What it is."""

from typing import Any


class ShortWay:
    """Have a way."""


class Registration:
    """Keep a kernel, in this room; make room for others."""

    when: tuple | None = None


# Its floor is made of planks.
def run(op: Any) -> Any:
    """Return the result."""

    def inner() -> int:
        return 1

    inner.body = inner
    run.serves, inner.is_first = 1, True
    inner.unknown = 2
    return inner
'''
LIBRARY = '''"""Schemas."""

SCHEMAS = """
[pointwise]
frobnicate(Tensor self, Scalar a=1) -> Tensor
frobnicate_(Tensor(a!) self, Scalar a=1) -> Tensor(a!)
add.Tensor(Tensor self, Tensor other) -> Tensor
"""
'''
FRONTEND = '''"""A frontend."""

from . import functions


class Tensor:
    """A tensor."""

    def requires_grad_(self):
        return self

    def __mul__(self, other):
        return other

    def sum(self):
        return functions.total(self)

    def backward(self):
        """See `functions`."""


def ones(size):
    return Tensor()


def add(left, right):
    return left._entry or functions.total(left)


Tensor._entry = None
'''
DOCUMENT = """# Architecture

## One call, end to end

**The call.** `add` goes to `calls/codegen.py` and `operators/runners.py`, a **runner** of `calls/codegen.py`.

## Later

**Nothing.**
"""


@pytest.fixture
def tool(monkeypatch):
    """The module of the tool, whose folder is on the path as it is for a script."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    spec = importlib.util.spec_from_file_location("measure_house", ROOT / "tools" / "measure_house.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("compare_benchmarks", None)


@pytest.fixture
def tree(tmp_path):
    """A tree of three packages, a test and a document."""
    files = {
        "core/src/dispatch_core/__init__.py": CORE,
        "library/src/dispatch_aten/__init__.py": LIBRARY,
        "library/src/dispatch_aten/texts.toml": 'frobnicate = "Frobnicate it."\n',
        "library/src/dispatch_aten/stubs.pyi": "def frobnicate(): ...\n",
        "frontend/src/torchlike/__init__.py": FRONTEND,
        "frontend/src/torchlike/functions.py": "def total(it):\n    return getattr(it, 'frobnicate_', it)\n" * 101,
        "core/tests/test_it.py": "assert True\n" * 10,
    }
    for name, text in files.items():
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "architecture.md").write_text(DOCUMENT, encoding="utf-8")
    return tmp_path


def test_each_row_is_counted(tool, tree, capsys):
    for number in range(21):
        folder = tree / "packages/frontend/src/torchlike/many"
        folder.mkdir(exist_ok=True)
        (folder / f"module{number}.py").write_text("", encoding="utf-8")
    assert tool.main([str(tree), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["now"]
    lines = len((CORE + LIBRARY + FRONTEND).splitlines()) + 202
    assert found["sizes"]["files"] == "25"
    assert found["sizes"]["lines"] == str(lines)
    assert found["sizes"]["files over 400 lines"] == "0"
    assert found["sizes"]["tests ÷ source"] == f"{10 / lines:.2f}"
    assert [*found["figures"].values()] == [
        f"{lines / 1e3:.1f}k / 0.0k",
        "1",
        "3",  # the schemas, the texts and the frontend's functions; no stubs
        "0 / 0 / 0",
        "2 / 3",
        "4",
        "2",
        "2 / 2",
        "2",
        "38.46",
        "2",
        "2",
    ]


def test_the_tables_name_their_aims_and_older_figures(tool, tree):
    now = tool.measure(tree)
    lines = tool.as_tables(now, now, "main").splitlines()
    assert "| | main | now | aim |" in lines
    assert "| docstrings that begin with Let, Have, See | 2 | 2 | 0 |" in lines
    assert [line for line in lines if line.startswith("| files |")] == ["| files | 4 | 4 |"]


def test_a_tree_without_packages_is_refused(tool, tmp_path):
    with pytest.raises(SystemExit, match="has no packages"):
        tool.House(tmp_path)


def test_every_listed_name_is_defined_or_listed_as_gone(tool, monkeypatch):
    house = tool.House(ROOT)
    assert house.missing() == {}
    monkeypatch.setattr(tool, "FORMS", {"Stepp": "a misspelled name"})
    assert house.missing() == {"forms": ["Stepp"]}


def test_two_mechanisms_choose_a_kernel_and_no_attribute_of_a_function_does(tool):
    assert tool.count_choices(tool.House(ROOT)) == "2 / 0"


def test_the_core_says_seldom_that_a_value_may_be_anything(tool):
    assert tool.functions_per_any(tool.House(ROOT)) >= 12
