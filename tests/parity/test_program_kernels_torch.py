"""Which of a program's kernels a call with numbers reaches, in torch and here: the overload for tensors, as torch does."""

from __future__ import annotations

import json
import operator
import subprocess
import sys
import warnings

import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

from dispatch_aten.decompositions import GIVING_WAY  # noqa: E402  # after the skip
from dispatch_aten.operators import ATEN  # noqa: E402  # after the skip

#: Operators with an overload for numbers and one for tensors.
NAMES = (
    "add sub mul div remainder fmod floor_divide bitwise_and bitwise_or bitwise_xor pow rsub eq ne lt le gt ge"
    " bitwise_left_shift bitwise_right_shift"
    " maximum minimum atan2 true_divide multiply subtract divide"
).split()
#: Kernels that take tensors alone; a program registers one for each.
TENSORS = [
    each.name
    for each in ATEN
    if each.name.partition(".")[0].removesuffix("_") in NAMES
    and each.name.partition(".")[2] in ("", "Tensor", "Tensor_Tensor", "Tensor_mode")
    and torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{each.name}", "CPU")
] + ["mean.dim", "sort.stable", "cat", "sum.dim_IntList"]
#: Operators that others compute, and calls of them.
OTHERS = [("mean", ["t"]), ("sort", ["t"]), ("stack", [["t", "t"]]), ("sum", ["t"]), ("vstack", [["t", "t"]])]
#: Where ours differs: torch goes by way of an ``out=`` overload, except where Python's operator is called.
OUT = {
    "mul_.Scalar": "mul_.Tensor",
    "multiply_.Scalar": "mul_.Tensor",
    "floor_divide_.Scalar": "floor_divide_.Tensor",
    "bitwise_left_shift_.Tensor_Scalar": "bitwise_left_shift.Tensor",
    "bitwise_right_shift_.Tensor_Scalar": "bitwise_right_shift.Tensor",
}
PYTHON = "add sub mul truediv floordiv mod pow and_ or_ xor eq ne lt le gt ge".split()


def scalar_overloads():
    """Yield every overload that takes a number instead of a tensor, with arguments for it."""
    for each in ATEN:
        base, _, overload = each.name.partition(".")
        is_out = overload.endswith("out")
        if base.removesuffix("_") in NAMES and overload.startswith(("Scalar", "Tensor")) and not is_out:
            yield each.name


def call_of(name, schema):
    """Return the arguments of a call: tensors instead of "t", and numbers."""
    return [
        "t" if str(argument.type) == "Tensor" else 3
        for argument in schema.arguments
        if not argument.has_default_value() and argument.name != "rounding_mode"
    ]


OURS = """
import json, sys, warnings
import torchlike, operator
import dispatch_core as dc
warnings.simplefilter("ignore", dc.OverwriteWarning)
tensors, calls, python = json.loads(sys.stdin.read())
dc.load_backend("cpu")
ran = []
program = dc.Library("aten", "IMPL", "CPU")
def noting(name, before):
    def kernel(keyset, *args, **kwargs):
        ran.append(name)
        return before.call_boxed(keyset, *args, **kwargs)
    return kernel
handles = {name: dc.get_kernel(f"aten::{name}" if "." in name else f"aten::{name}.default", "CPU") for name in tensors}
for name, before in handles.items():
    program.impl(name, noting(name, before), with_keyset=True)

def fill(value, t):
    return [fill(each, t) for each in value] if isinstance(value, list) else t.clone() if value == "t" else value

def note(function, *args, **kwargs):
    ran.clear()
    t = torchlike.tensor([1, 5, 7])
    if kwargs.pop("is_float", True):
        t = t.to(torchlike.float32)
    given = [fill(each, t) for each in args]
    del ran[:]
    result = function(*given, **kwargs)
    values = (result[0] if isinstance(result, tuple) else result).tolist()
    return list(ran), values

found = {}
for name, args, is_float in calls:
    packet, _, overload = name.partition(".")
    op = getattr(getattr(dc.ops.aten, packet), overload or "default")
    kwargs = {"rounding_mode": "floor"} if overload.endswith("mode") else {}
    for pipelined in (False, True):
        with torchlike.pipeline() if pipelined else torchlike.no_grad():
            found[f"{name} {pipelined}"] = note(op, *args, is_float=is_float, **kwargs)
for name, args, is_float in python:
    for pipelined in (False, True):
        with torchlike.pipeline() if pipelined else torchlike.no_grad():
            found[f"{name} {args} {pipelined}"] = note(getattr(operator, name), *args, is_float=is_float)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def calls():
    found = []
    for name in scalar_overloads():
        packet, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, packet), overload or "default")
        found.append((name, call_of(name, op._schema), "bitwise" not in name))
    return [*found, *((name, args, True) for name, args in OTHERS)]


@pytest.fixture(scope="module")
def python():
    found = []
    for name in PYTHON:
        is_float = name not in ("and_", "or_", "xor")
        for args in (["t", 3], [3, "t"], ["t", "t"]):
            found.append((name, args, is_float))
        inplace = f"i{name.removesuffix('_')}"
        if hasattr(operator, inplace):
            found.append((inplace, ["t", 3], is_float))
    return found


@pytest.fixture(scope="module")
def ours(calls, python):
    done = subprocess.run(
        [sys.executable, "-c", OURS],
        input=json.dumps([TENSORS, calls, python]),
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def theirs(calls, python):
    """Ask torch the same, with Python kernels for the same overloads."""
    ran = []
    program = torch.library.Library("aten", "IMPL")

    def noting(name):
        packet, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, packet), overload or "default")
        before = torch.library.get_kernel(op, "CPU")
        wants = [str(argument.type) for argument in op._schema.arguments]

        def kernel(keyset, *args, **kwargs):
            ran.append(name)
            # Torch hands wrapped numbers to kernels of Python as numbers.
            args = [
                torch.tensor(value) if want == "Tensor" and not isinstance(value, torch.Tensor) else value
                for want, value in zip(wants, args, strict=False)
            ]
            return before.call_boxed(keyset, *args, **kwargs)

        return kernel

    def note(function, *args, is_float, **kwargs):
        t = torch.tensor([1, 5, 7])
        t = t.float() if is_float else t
        given = [fill(each, t) for each in args]
        ran.clear()
        result = function(*given, **kwargs)
        return list(ran), (result[0] if isinstance(result, tuple) else result).tolist()

    def fill(value, t):
        return [fill(each, t) for each in value] if isinstance(value, list) else t.clone() if value == "t" else value

    with warnings.catch_warnings(action="ignore"):
        for name in TENSORS:
            program.impl(name, noting(name), "CPU", with_keyset=True)
    found = {}
    try:
        for name, args, is_float in calls:
            packet, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, packet), overload or "default")
            kwargs = {"rounding_mode": "floor"} if overload.endswith("mode") else {}
            found[name] = note(op, *args, is_float=is_float, **kwargs)
        for name, args, is_float in python:
            found[f"{name} {args}"] = note(getattr(operator, name), *args, is_float=is_float)
    finally:
        program._destroy()
    return found


def test_calls_with_numbers_reach_the_kernels_that_they_reach_in_torch(theirs, ours):
    wrong = {}
    for key, (reached, value) in theirs.items():
        expected = [OUT[key]] if key in OUT else reached
        for pipelined in (False, True):
            # The first: what an in-place kernel here goes on to, where it is derived, is the functional one.
            actual, got = ours[f"{key} {pipelined}"]
            if (actual[:1], got) != (expected[:1], value):
                wrong[key, pipelined] = actual, expected, got, value
    assert not wrong


def test_the_table_of_overloads_that_give_way_is_exercised(theirs):
    assert {name for name in GIVING_WAY if not theirs.get(name, ([], 0))[0]} - set(OUT) == set()
