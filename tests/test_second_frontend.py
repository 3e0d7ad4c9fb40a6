"""A second frontend: it implements ``Autograd``, and its `vmap` needs the documented names alone."""

from __future__ import annotations

import ast
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest
import taped_frontend as taped

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.arrays.frontend import _remove

PROGRAMS = 60


@pytest.fixture(scope="module")
def taped_frontend():
    made = taped.Frontend()
    yield made
    made.close()
    _remove(made.frontend)


def draw_program(draw):
    """Return a function of tensors as steps: each names an operator and the values that it takes."""
    steps, count = [], 3
    for _ in range(draw.randrange(2, 9)):
        kind = draw.choice(["add", "mul", "scale", "swap", "square_sum"])
        steps.append((kind, draw.randrange(count), draw.randrange(count), draw.randrange(-2, 4), draw.random() < 0.5))
        count += 1
    return steps


def run_steps(steps, values, calls):
    values = list(values)
    for kind, first, second, number, flag in steps:
        values.append(calls[kind](values[first], values[second], number, flag))
    return values[-1]


def calls_of(ops):
    """Return the steps' functions, on tensors."""

    def swap(x, y, number, flag):
        first, second = ops.split(x, 1)
        return ops.join([second, first])

    return {
        "add": lambda x, y, number, flag: ops.add(x, y),
        "mul": lambda x, y, number, flag: ops.mul(x, y),
        "scale": lambda x, y, number, flag: ops.scale(x, number, negate=flag),
        "swap": swap,
        "square_sum": lambda x, y, number, flag: ops.square_sum(x, y),
    }


#: The same on lists of numbers with their derivatives along one direction.
DUAL = {
    "add": lambda x, y, number, flag: [(a + c, b + d) for (a, b), (c, d) in zip(x, y, strict=True)],
    "mul": lambda x, y, number, flag: [(a * c, a * d + b * c) for (a, b), (c, d) in zip(x, y, strict=True)],
    "scale": lambda x, y, number, flag: [(a * s, b * s) for s in [-number if flag else number] for a, b in x],
    "swap": lambda x, y, number, flag: [*x[1:], x[0]],
    "square_sum": lambda x, y, number, flag: [
        ((a + c) ** 2, 2 * (a + c) * (b + d)) for (a, b), (c, d) in zip(x, y, strict=True)
    ],
}


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_vmap_of_a_program_has_the_values_and_gradients_of_its_rows(taped_frontend, seed):
    draw = random.Random(seed)
    steps, size, rows = draw_program(draw), draw.randrange(2, 4), draw.randrange(1, 4)
    numbers = [[[draw.randrange(-3, 4) for _ in range(size)] for _ in range(rows)] for _ in range(2)]
    shared = [draw.randrange(-3, 4) for _ in range(size)]
    calls = calls_of(taped_frontend.ops)
    batched = [[taped.track(taped_frontend.tensor(row)) for row in each] for each in numbers]
    weight = taped.track(taped_frontend.tensor(shared))
    found = taped.vmap(lambda *args: run_steps(steps, args, calls))(*batched, weight)
    assert len(found) == rows
    direction = [[[draw.randrange(-2, 3) for _ in range(size)] for _ in range(rows)] for _ in range(2)]
    along = [draw.randrange(-2, 3) for _ in range(size)]
    wanted = Fraction(0)
    for index, result in enumerate(found):
        pairs = [list(zip(numbers[k][index], direction[k][index], strict=True)) for k in range(2)]
        expected = run_steps(steps, [*pairs, list(zip(shared, along, strict=True))], DUAL)
        assert result.values == [value for value, _ in expected]
        assert not result._dispatch_mask & dc.DispatchKey.FuncTorchBatched
        wanted += sum(tangent for _, tangent in expected)
    grads = {id(each): [Fraction(0)] * size for each in (*batched[0], *batched[1], weight)}
    for result in found:
        for each in (*batched[0], *batched[1], weight):
            each.gradient = None
        taped.backward(result, [1] * size)
        for each in (*batched[0], *batched[1], weight):
            grads[id(each)] = [x + y for x, y in zip(grads[id(each)], each.gradient or [0] * size, strict=True)]
    found_slope = sum(g * d for g, d in zip(grads[id(weight)], along, strict=True))
    for tensors, ways in zip(batched, direction, strict=True):
        for each, way in zip(tensors, ways, strict=True):
            found_slope += sum(g * d for g, d in zip(grads[id(each)], way, strict=True))
    assert found_slope == wanted


def test_it_implements_one_protocol_and_the_smallest_frontend_none(taped_frontend, root):
    protocols = ("views", "writes", "autograd", "layers", "capture")
    assert [each for each in protocols if getattr(taped_frontend.frontend, each) is not None] == ["autograd"]
    smallest = (root / "examples" / "minimal_frontend.py").read_text()
    assert re.findall(r"register_frontend\((.*)\)", smallest) == ['"minimal", Vector']


def test_it_uses_documented_names_alone(root):
    page = "".join((root / "docs" / each).read_text() for each in ("frontends.md", "tutorials/frontend.md"))
    tree = ast.parse(Path(taped.__file__).read_text())
    modules = {"dc": dc, "frontends": frontends}
    used = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            assert getattr(node, "module", None) in (None, "__future__", "fractions", "dispatch_core")
            assert set(names) <= {"annotations", "Fraction", "dispatch_core", "frontends"}
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") or node.attr in {
                "_dispatch_data",
                "_dispatch_mask",
                "_square_sum",
                "__add__",
                "__mul__",
            }
            if isinstance(node.value, ast.Name) and node.value.id in modules:
                used += 1
                assert node.attr in modules[node.value.id].__all__
                assert node.attr in page, node.attr
            if isinstance(node.value, ast.Name) and node.value.id == "op":
                used += 1
                assert f"`op.{node.attr}(" in page
    assert used > 10
