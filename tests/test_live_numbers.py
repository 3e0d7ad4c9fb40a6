"""Numbers that a captured function declares, in calls of every operator that takes numbers: replays give eager's results."""

from __future__ import annotations

import copy
import math
import os
import random
import warnings

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.operators import ATEN_BY_NAME, KIND_OF
from dispatch_aten.testing.samples import has_samples, op_samples, schema_of
from torchlike import Tensor

#: How many rows of each operator's samples are taken, how many operators, and with which seed values are drawn.
ROWS = int(os.environ.get("DISPATCH_LIVE_ROWS", "1"))
OPERATORS = int(os.environ.get("DISPATCH_LIVE_OPERATORS", "12"))
SEED = int(os.environ.get("DISPATCH_TEST_SEED", "0"))
_NUMBERS = ("Scalar", "Scalar?", "float", "float?", "int", "int?", "SymInt", "float[]?", "float[]")


def find_numbers(name, arguments):
    """Return the names of the arguments that are numbers, or lists of floats."""
    kinds = {each.name: str(each.type) for each in schema_of(name).arguments}
    # A reduction is one of three words, written as an int.
    return [
        key for key, value in arguments.items() if kinds[key] in _NUMBERS and _is_number(value) and key != "reduction"
    ]


def _is_number(value):
    if isinstance(value, (list, tuple)):
        return bool(value) and all(type(each) is float for each in value)
    return type(value) in (int, float)


NAMES = [
    name
    for name in ATEN_BY_NAME
    if KIND_OF[name] not in ("random", "prims")
    and not any(each.is_write and each.kwarg_only for each in schema_of(name).arguments)
    and has_samples(name)
    and any(str(each.type) in _NUMBERS for each in schema_of(name).arguments)
]


def to_tensor(value, *, with_grad):
    match value:
        case np.ndarray():
            found = torchlike.tensor(value)
            return found.requires_grad_() if with_grad and found.dtype.is_floating_point else found
        case list() | tuple() if any(isinstance(each, np.ndarray) for each in value):
            return [to_tensor(each, with_grad=with_grad) for each in value]
        case _:
            return value


def tensors_of(value):
    if isinstance(value, Tensor):
        return [value]
    return [each for item in value for each in tensors_of(item)] if isinstance(value, (list, tuple)) else []


def show(value):
    """Return all bits of a result, so that it can be compared."""
    if isinstance(value, Tensor):
        return str(value.dtype), tuple(value.shape), value.detach().numpy().tobytes()
    return [show(each) for each in value] if isinstance(value, (list, tuple)) else repr(value)


def draw_values(draw, value):
    """Return values of a number: the first ones are equal, so that two recordings are."""
    if isinstance(value, (list, tuple)):
        return [*zip(*[draw_values(draw, each) for each in value], strict=True)]
    if type(value) is int:
        others = [value + 1, max(value - 1, 0), value, value + draw.randint(1, 3)]
    else:
        others = [value + 0.25, value * draw.uniform(0.5, 2.0), draw.uniform(0.0, 3.0), value]
    return [value] * 3 + others + others[:2]


def run(name, arguments, key, number, how, function):
    """Call an operator, directly or captured, and return what it gives and the gradients, or None where it refuses."""
    torchlike.manual_seed(0)
    op = dc.registry.get(f"aten::{name}").op
    given = {each: to_tensor(value, with_grad=how != "forward") for each, value in arguments.items() if each != key}
    inputs = [each for value in given.values() for each in tensors_of(value) if each.requires_grad]
    written = [each for each in schema_of(name).arguments if each.is_write]
    for each in written if inputs else ():
        given[each.name] = given[each.name] * 1.0
    try:
        found = function(op, given, inputs, number)
        results = tensors_of(found[0]) if how == "outside" else []
        sums = [each.sum() for each in results if each.requires_grad]
        grads = torchlike.autograd.grad(sum(sums), inputs, allow_unused=True) if sums and inputs else found[1]
    except (dc.CaptureError, RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, ArithmeticError):
        return None
    return show(found[0]), show(grads), show([given[each.name] for each in written])


def compare(name, key, arguments, draw):
    """Return what differs between eager calls and captured ones whose number ``key`` is live, and how many were replayed."""
    differences, replays = [], 0
    for how in ("forward", "outside", "inside"):
        live = [None]

        def call(op, given, inputs, number, how=how):
            found = op(**given, **{key: number})
            sums = [each.sum() for each in tensors_of(found) if each.requires_grad] if how == "inside" else []
            grads = torchlike.autograd.grad(sum(sums), inputs, allow_unused=True) if sums and inputs else ()
            return found, grads

        def declare(op, given, inputs, call=call, live=live):
            if isinstance(live[0], tuple):
                number = [dc.capture.number(lambda at=at: live[0][at]) for at in range(len(live[0]))]
            else:
                number = dc.capture.number(lambda: live[0])
            return call(op, given, inputs, number)

        captured = torchlike.capture(declare)
        for value in draw_values(draw, arguments[key]):
            live[0] = value
            expected = run(name, arguments, key, value, how, call)
            found = run(name, arguments, key, value, how, lambda *each, made=captured: made(*each[:3]))
            if found is not None and found != expected:
                differences.append(f"{name}, {how}, {key}={value}:\n{str(expected)[:300]}\n{str(found)[:300]}")
        replays += captured.stats().replays
    return differences, replays


def compare_operators(names, draw):
    """Compare operators with live numbers with eager calls, and return how many calls were replayed."""
    different, replays = [], 0
    for name in names:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for sample in [*op_samples(name)][:ROWS]:
                for key in find_numbers(name, sample.arguments):
                    found = compare(name, key, sample.arguments, draw)
                    different += found[0]
                    replays += found[1]
    assert not different, "\n".join(different)
    return replays


def test_replays_of_drawn_operators_with_live_numbers_are_eager_calls():
    draw = random.Random(SEED)
    assert compare_operators(draw.sample(NAMES, OPERATORS), draw)


@pytest.mark.long
@pytest.mark.parametrize("kind", sorted({KIND_OF[name] for name in NAMES}))
def test_replays_of_every_operator_with_live_numbers_are_eager_calls(kind):
    compare_operators([name for name in NAMES if KIND_OF[name] == kind], random.Random(f"{SEED} {kind}"))


F = torchlike.nn.functional
#: What a program does with a tensor and a live number, and how many calls of the values below are replayed.
PROGRAMS = {
    "a composite's arithmetic": (lambda x, k: F.cross_entropy(x, torchlike.tensor([0, 1]), label_smoothing=k), 5),
    "a composite's comparison": (lambda x, k: torchlike.lerp(x, x * 2, k), 5),
    "a gradient's formula": (lambda x, k: x.abs() ** k, 5),
    "a gradient inside": (lambda x, k: torchlike.autograd.grad((x.abs() ** k).sum(), x)[0], 5),
    "math": (lambda x, k: x * math.sqrt(k), 2),
    "NumPy": (lambda x, k: x * float(np.sqrt(k)), 2),
    "text": (lambda x, k: x * float(f"{k:.6f}"), 2),
    "data of the host": (lambda x, k: x * torchlike.tensor([k, 1.0, 2.0]), 2),
    "a size": (lambda x, k: x.sum() * torchlike.arange(0, k, 0.125), 2),
    "a scale": (lambda x, k: F.interpolate(x[None], scale_factor=2 + k, mode="nearest"), 2),
    "a key": (lambda x, k: x * {0.25: 2.0}.get(k, 3.0), 2),
    "a copy": (lambda x, k: x * copy.deepcopy([k])[0], 5),
    "another number's kind": (lambda x, k: x * (1j * k).imag, 2),
    "an int": (lambda x, k: x * int(4 * k), 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_live_numbers(name):
    function, replays = PROGRAMS[name]
    live = [0.0]

    def call(function, gives_number):
        x = torchlike.tensor([[0.5, 1.5, -2.0], [1.0, 2.0, 3.0]], requires_grad=True)
        found = function(x, *gives_number)
        if found.requires_grad:
            found.sum().backward()
        return show([found, x.grad if x.grad is not None else 0])

    captured = torchlike.capture(lambda x: function(x, torchlike.capture.number(lambda: live[0])))
    for live[0] in (0.25, 0.25, 0.25, 0.5, 0.5, 0.75, 0.25):
        assert call(captured, ()) == call(function, (live[0],))
    assert captured.stats().replays >= replays


def test_nodes_keep_ordinary_numbers_and_the_reason_names_the_number():
    live = [0.5]
    captured = torchlike.capture(lambda x: x.abs() ** torchlike.capture.number(lambda: live[0]) * math.exp(1.0))
    x = torchlike.ones(2, requires_grad=True)
    for live[0] in (0.5, 0.5, 0.25, 0.75):
        exponent = captured(x).grad_fn.next_functions[0][0]._saved_exponent
        assert (type(exponent), exponent) == (float, live[0])
    reads = torchlike.capture(lambda x: x * math.sqrt(torchlike.capture.number(lambda: live[0])))
    for live[0] in (1.0, 4.0):
        reads(x)
    assert "recorded because <lambda>() is 4.0, and was 1.0: 1" in reads.explain()
