"""The extension as it was built, and whether the backend takes it."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import dispatch_core as dc

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_backend_cpu_native._loops", reason="the extension is not built: run nox -s native")

from dispatch_backend_cpu.kernels import KERNELS
from dispatch_backend_cpu.ops.support import compiled_kernels
from dispatch_backend_cpu_native import find_loops
from dispatch_core.calls import LazyFunction
from dispatch_core.operators.kernel_names import kernel_name, kernel_place

loops = find_loops()
pytestmark = pytest.mark.skipif(os.environ.get("DISPATCH_NATIVE") == "0", reason="compiled kernels are turned off")


def test_the_backend_takes_the_extension_that_is_built():
    assert compiled_kernels.LOOPS is loops
    assert loops.LAYOUT == compiled_kernels.LAYOUT


def test_the_compiler_was_told_to_round_every_operation():
    flags = loops.FLAGS.split()
    assert {"-ffp-contract=off", "/fp:precise"} & {*flags}
    assert not [flag for flag in flags if flag in {"-ffast-math", "/fp:fast", "-Ofast", "-funsafe-math-optimizations"}]


def test_most_rows_have_a_compiled_kernel():
    names = {name for name, kernel in KERNELS.items() if type(kernel) is loops.Kernel}
    wanted = """
        add.Scalar mul.Tensor mul.Scalar div.Tensor neg exp eq.Tensor lt.Scalar relu threshold_backward sum mean.dim amax max
        mm addmm view t transpose.int select.int slice.Tensor detach mul_.Tensor exp_ mul_.Scalar
    """.split()
    assert {*wanted} - names == {"add.Scalar"}  # only without a factor
    assert len(names) > 90


@pytest.mark.parametrize("name", sorted(name for name, kernel in KERNELS.items() if type(kernel) is loops.Kernel))
def test_a_compiled_kernel_is_the_one_in_python_to_everybody_but_callers(name):
    kernel = KERNELS[name]
    python = loops.facts(kernel)["python"]
    assert kernel_name(kernel) == kernel_name(python)
    assert kernel_place(kernel) == kernel_place(python)
    assert kernel.__code__ is python.__code__


def test_a_kernel_says_what_it_does_not_take():
    for wrong, error in (
        (("fly", abs), "no way fly"),
        (("unary", 1), "callable"),
        (("unary", abs, abs), "not a ufunc"),
        (("unary", abs, np.exp, [99]), "99"),
        (("fold", abs, np.add, [12], {12: (np.zeros(2),)}), "without dimensions"),
        (("fold", abs, np.add, [12], {12: np.zeros(2)}), "without dimensions"),
        (("chain", abs, None, [12]), "a maker and an arity"),
    ):
        with pytest.raises((TypeError, ValueError), match=error):
            loops.Kernel(*wrong)


@pytest.mark.parametrize(("value", "remark"), [("1", "are on"), ("0", "are off, because DISPATCH_NATIVE is '0'")])
def test_the_doctor_says_whether_they_are_on(value, remark):
    command = [sys.executable, "-m", "dispatch_core", "doctor", "cpu"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "DISPATCH_NATIVE": value}
    )
    assert remark in " ".join(done.stdout.split())


def test_both_distributions_have_one_version():
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["version"] == importlib.metadata.version("dispatch-backend-cpu")


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [(np.exp, (12, 12), (0, 2))],
        [(np.exp, (12, 12), (1, 1))],
        [(np.exp, (12, 12), (0, -1))],
        [(np.exp, (12, 11), (0, 1))],
        [(np.exp, (12, 12, 12), (0, 0, 1))],
        [(None, (12, 12, 12, 12), (0, 0, 0, 1))],
        [(abs, (12, 12), (0, 1))],
        [(np.exp, (12, 12), (0, 1)), (np.exp, (11, 11), (0, 2))],
        [(np.exp, (12, 12), (0, 1)), (np.exp, (12, 12), (2, 2))],
        ["step"],
    ],
)
def test_a_formula_that_is_none_is_left_to_python(steps):
    asked = []
    kernel = loops.Kernel(
        "chain", abs, None, [12], arity=1, maker=lambda args, kwargs: asked.append(1) or {12: ([], steps)}
    )
    before = loops.counts()[0]
    for _ in range(3):
        assert kernel(np.full(2, -3.0)).tolist() == [3.0, 3.0]
    assert asked == [1]
    assert loops.counts()[0] == before


def test_explain_shows_the_function_that_numpy_computes_with():
    text = str(dc.explain("aten::mul.Tensor", np.ones(2), np.ones(2)))
    was = loops.serve(False)
    try:
        assert str(dc.explain("aten::mul.Tensor", np.ones(2), np.ones(2))) == text
    finally:
        loops.serve(was)
    assert "numpy.multiply" in text


def test_the_first_call_that_is_left_is_not_the_first_call_of_a_kernel(monkeypatch):
    """As the kernel in Python has it: only its first call passes through the function that makes its code."""
    monkeypatch.setenv("DISPATCH_TRACEBACK", "full")
    frames = {}
    for name, calls in (("served before", 1), ("left at once", 0)):
        made = []
        function = LazyFunction(lambda made=made: made.append(1) or (lambda a: 1 / 0), name="kernel").function
        kernel = loops.Kernel("unary", function, np.exp, [np.dtype(float).num])
        for _ in range(calls):
            kernel(np.ones(2))
        assert made == []
        with pytest.raises(ZeroDivisionError) as caught:
            kernel(np.ones((2, 2)).T[:1])
        frames[name] = [each.name for each in caught.traceback]
        assert made == [1]
    assert len(frames["left at once"]) == len(frames["served before"]) + 1
