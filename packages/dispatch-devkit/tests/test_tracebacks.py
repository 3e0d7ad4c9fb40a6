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
    def fail(x, n=1):
        return helper()

    def helper():
        raise ValueError("the user's own")

    library.define("fail(Tensor x, int n=1) -> Tensor")
    library.impl("fail", fail, "CompositeImplicitAutograd")
    library.define("around(Tensor x) -> Tensor")

    def around(x):
        return registry.ops.t.fail(x)

    library.impl("around", around, "CompositeImplicitAutograd")
    library.define("wrong(Tensor x) -> (Tensor, Tensor)")
    library.impl("wrong", lambda x: "one", toy.key)
    library.define("two(Tensor x) -> int")
    library.define("two.other(Tensor x, int y) -> int")
    return registry.ops.t


FAULTS = {
    "a kernel's result": lambda ops, x: ops.wrong(x),
    "an overload's argument": lambda ops, x: ops.fail.default(x, "one"),
    "a packet's argument": lambda ops, x: ops.fail(x, "one"),
    "arguments of no overload": lambda ops, x: ops.two("x", "y"),
    "too few arguments": lambda ops, x: ops.fail.default(),
    "no kernel": lambda ops, x: ops.two.default(x),
    "no kernel for an explicit keyset": lambda ops, x: ops.two.default.redispatch(dc.DispatchKeySet(["Meta"]), x),
    "no kernel for a packet": lambda ops, x: ops.two.redispatch(dc.DispatchKeySet(["Meta"]), x),
    "no operator": lambda ops, x: ops.nothing,
    "no overload": lambda ops, x: ops.fail.nothing,
    "no operator of that name": lambda ops, x: ops._registry.dispatch("t::nothing", x),
    "no key of that name": lambda ops, x: ops._registry.dispatch_with_keyset("t::fail", ["CPUU"], x),
    "a redispatch by name": lambda ops, x: ops._registry.redispatch("t::two", ["Meta"], x),
    "a kernel called by its key": lambda ops, x: ops._registry.call_direct("t::fail", "Toy", x),
    "a schema": lambda ops, x: dc.FunctionSchema.parse("f(Tnsor x) -> Tensor"),
    "a definition": lambda ops, x: dc.Library("t", "FRAGMENT", registry=ops._registry).define("f(Tnsor x) -> Tensor"),
    "a registration": lambda ops, x: dc.Library("t", "FRAGMENT", registry=ops._registry).impl("fail", len, "CPUU"),
    "a keyset": lambda ops, x: dc.DispatchKeySet(["CPUU"]),
    "a context": lambda ops, x: dc.include_keys("CPUU"),
    "an excluded number": lambda ops, x: dc.exclude_keys(1.5),
    "a custom operator": lambda ops, x: dc.custom_op("t::custom", lambda y: y, mutates_args=(), registry=ops._registry),
    "an explanation": lambda ops, x: dc.explain("t::nothing", registry=ops._registry),
    "a fake": lambda ops, x: dc.register_fake("t::nothing", len),
}


@pytest.mark.parametrize(
    "fault", ["a kernel's result", "a packet's argument", "a schema", "no kernel", "an explanation"]
)
def test_all_frames_are_shown_on_demand(ops, x, fault, monkeypatch):
    monkeypatch.setenv("DISPATCH_TRACEBACK", "full")
    with pytest.raises(dc.DispatchError) as caught:
        FAULTS[fault](ops, x)
    assert sum(map(is_ours, frames(caught.value))) > 2
