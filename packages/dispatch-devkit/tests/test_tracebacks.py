"""Tracebacks of tools."""

from __future__ import annotations

import traceback

import pytest

import dispatch_core as dc
from dispatch_core.tracebacks import GENERATED

FOLDER = str(dc.__file__).removesuffix("__init__.py")


def frames(error):
    """Return the traceback from the test's own line on; the first frame is the one that catches."""
    return traceback.extract_tb(error.__traceback__)[1:]


def is_ours(frame):
    return frame.filename.startswith((FOLDER, GENERATED))


@pytest.fixture
def x(toy):
    return toy.array([1, 1])


@pytest.fixture
def ops(registry, library, toy):
    library.define("fail(Tensor x, int n=1) -> Tensor")
    library.define("wrong(Tensor x) -> (Tensor, Tensor)")
    library.impl("wrong", lambda x: "one", toy.key)
    library.define("two(Tensor x) -> int")
    return registry.ops.t


FAULTS = {
    "a kernel's result": lambda ops, x: ops.wrong(x),
    "a packet's argument": lambda ops, x: ops.fail(x, "one"),
    "no kernel": lambda ops, x: ops.two.default(x),
    "a schema": lambda ops, x: dc.FunctionSchema.parse("f(Tnsor x) -> Tensor"),
    "an explanation": lambda ops, x: dc.explain("t::nothing", registry=ops._registry),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_all_frames_are_shown_on_demand(ops, x, fault, monkeypatch):
    monkeypatch.setenv("DISPATCH_TRACEBACK", "full")
    with pytest.raises(dc.DispatchError) as caught:
        fault(ops, x)
    assert sum(map(is_ours, frames(caught.value))) > 2
