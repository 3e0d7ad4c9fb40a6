import ast
import builtins
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dispatch_aten
from dispatch_aten.expressions import read_expression
from dispatch_aten.families import KINDS
from dispatch_aten.gradients import FUNCTIONS
from dispatch_aten.kinds import MODULES, find_function, is_operator, names_for, names_with, place_of
from dispatch_aten.operators import ATEN_BY_NAME
from dispatch_pipelines.record.callers import is_internal

FOLDER = Path(dispatch_aten.__file__).parent


def _names_read(expression: str) -> set[str]:
    """Return the names that an expression reads, without those that it binds itself."""
    nodes = [*ast.walk(ast.parse(expression, mode="eval"))]
    bound = {each.arg for each in nodes if isinstance(each, ast.arg)}
    bound |= {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return {each.id for each in nodes if isinstance(each, ast.Name)} - bound - {"name"} - vars(builtins).keys()


@pytest.mark.parametrize("fact", MODULES)
def test_every_function_that_a_row_names_is_there(fact):
    for name in names_with(fact):
        module, expression = place_of(fact, name)
        there = names_for(fact, module)
        if fact != "shape":
            expression = read_expression(ATEN_BY_NAME[name].schema, expression, there) or expression
        assert _names_read(expression) <= there.keys(), name
        assert callable(find_function(fact, name)), name


def test_every_function_and_table_beside_the_rows_is_used():
    unused = []
    rows = {place_of(fact, name)[1] for fact in MODULES for name in names_with(fact)}
    named = {name for expression in rows for name in _names_read(expression)}
    for file in (FOLDER / "families").glob("*/*.py"):
        text = file.read_text("utf-8")
        for node in ast.parse(text).body:
            name = getattr(node, "name", "") or getattr(getattr(node, "target", None), "id", "")
            if re.match("_[a-zA-Z]", name) and name not in named:
                unused += [(file.parent.name, file.name, name)] * (len(re.findall(rf"\b{name}\b", text)) == 1)
    assert unused == []


def test_an_operator_is_defined_with_the_modules_of_its_kind_only():
    program = (
        "import sys, dispatch_aten, dispatch_core as dc\n"
        "assert 'dispatch_aten.decompositions' not in sys.modules and 'dispatch_aten.shapes' not in sys.modules\n"
        "assert dc.ops.aten.relu.default.schema is not None\n"
        "assert 'dispatch_aten.families.reduction.composites' not in sys.modules\n"
        "assert 'aten::sum' not in dc.registry._entries and 'sum' in dir(dc.ops.aten)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_no_function_of_formulas_is_named_like_an_operator():
    for file in (FOLDER / "families").glob("*/*gradients.py"):
        module = import_module(f"dispatch_aten.families.{file.parent.name}.{file.stem}")
        assert [name for name in module.__all__ if is_operator(name)] == []
        assert {*module.__all__} <= {*FUNCTIONS}, f"{file.parent.name} is missing in the list of modules"


@pytest.mark.parametrize("kind", KINDS)
def test_the_code_of_a_row_is_not_taken_for_a_users(kind):
    assert is_internal(str(FOLDER / "families" / kind / f"{kind}.rows"))
    assert not is_internal(f"{kind}.rows") and not is_internal("<stdin>")
