"""DISPATCH_TRACE: a line per call, nested, decided when a runner is made."""

from __future__ import annotations

import threading

import pytest

import dispatch_core as dc
from dispatch_core import DispatchKey
from dispatch_core.calls import call_trace

SCRIPT = """
import dispatch_core as dc

registry = dc.Registry(interpreted={interpreted})
library = dc.Library("t", "DEF", registry=registry)
library.define("leaf(int x) -> int")
library.define("outer(int x) -> int")
library.impl("leaf", lambda x: x, "CPU")
library.impl("leaf", lambda keyset, x: registry.redispatch("t::leaf", keyset - "AutogradCPU", x), "AutogradCPU",
             with_keyset=True)
library.impl("outer", lambda x: registry.redispatch("t::leaf", ["AutogradCPU", "CPU"], x))
print(registry.redispatch("t::outer", ["CPU"], 3))
print(registry.call_direct("t::leaf", "CPU", 4))
try:
    registry.redispatch("t::leaf", ["Meta", "CPU"], 5)
except dc.NoKernelError:
    print("no kernel")
"""


@pytest.mark.parametrize("interpreted", [False, True])
def test_calls_are_printed_nested_where_the_variable_asks_for_it(run_python, interpreted):
    done = run_python("-c", SCRIPT.format(interpreted=interpreted), environment={"DISPATCH_TRACE": " Yes "})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == ["3", "4", "no kernel", ""]
    assert done.stderr.splitlines() == [
        "t::outer (CPU) -> CPU by CompositeImplicitAutograd, <string>:11",
        "  t::leaf (AutogradCPU, CPU) -> AutogradCPU, <string>:9",
        "    t::leaf (CPU) -> CPU, <string>:8",
        "t::leaf (CPU) -> CPU, <string>:8",
        "t::leaf (Meta, CPU) -> no kernel",
    ]


@pytest.mark.parametrize("value", ["", "0", "off"])
def test_nothing_is_printed_otherwise(run_python, value):
    done = run_python("-c", SCRIPT.format(interpreted=False), environment={"DISPATCH_TRACE": value})
    assert (done.returncode, done.stderr) == (0, "")


def test_a_value_that_is_neither_yes_nor_no_is_refused(run_python):
    done = run_python("-c", SCRIPT.format(interpreted=False), environment={"DISPATCH_TRACE": "maybe"})
    assert (
        "BackendError: The environment variable DISPATCH_TRACE is 'maybe', which is neither yes nor no" in done.stderr
    )


@pytest.fixture
def traced(monkeypatch):
    monkeypatch.setattr(call_trace.TRACE, "_on", True)


def test_a_trace_that_is_off_leaves_runners_bare(registry, library, toy, monkeypatch):
    library.define("f(Tensor x) -> str")
    kernel = lambda x: "ran"
    library.impl("f", kernel, "AutogradToy")
    entry = registry.ops.t.f.default._entry
    runner = entry.explicit_table.lookup(DispatchKey.AutogradToy)
    assert runner is kernel or registry.engine is dc.calls.reference
    entry.invalidate()
    monkeypatch.setattr(call_trace.TRACE, "_on", True)
    assert entry.explicit_table.lookup(DispatchKey.AutogradToy).__qualname__.startswith("trace_calls.")


def test_refreshing_reads_the_variable_again(registry, library, monkeypatch, capsys):
    library.define("f() -> int")
    library.impl("f", lambda: 1)
    registry.ops.t.f()
    monkeypatch.setenv("DISPATCH_TRACE", "1")
    registry.ops.t.f()
    assert capsys.readouterr().err == ""
    dc.refresh()
    try:
        registry.ops.t.f()
        assert capsys.readouterr().err.startswith("t::f (BackendSelect) -> Undefined by CompositeImplicitAutograd, ")
    finally:
        monkeypatch.delenv("DISPATCH_TRACE")
        dc.refresh()
    registry.ops.t.f()
    assert capsys.readouterr().err == ""


def test_factories_functional_twins_and_hooks_have_lines(traced, registry, library, make_backend, tensors, capsys):
    frozen, rival = make_backend("frozen", mutable=False), make_backend("rival")
    library.define("full(int n, *, Device? device=None) -> Tensor")
    library.impl("full", lambda n, *, device: frozen.array([n]), frozen.key)
    library.define("neg(Tensor self) -> Tensor")
    library.define("neg_(Tensor(a!) self) -> Tensor(a!)")
    library.impl("neg", lambda x: type(x)(-x.a), frozen.key)
    library.define("pair(Tensor x, Tensor y) -> Tensor")
    made = tensors.wrap(registry.ops.t.full(2, device="frozen"))
    registry.ops.t.neg_(made)
    with pytest.raises(dc.DeviceMismatchError):
        registry.ops.t.pair(made, tensors.wrap(rival.array([1])))
    place = [
        line.partition(", ")[0] if "Frozen) -> Frozen" in line else line
        for line in capsys.readouterr().err.splitlines()
    ]
    assert place == [
        "t::full (BackendSelect) -> BackendSelect, which reads the device",
        "  t::full (Frozen) -> Frozen",
        "t::neg_ (BackendSelect, Frozen) -> t::neg",
        "  t::neg (Frozen) -> Frozen",
        "t::pair -> the frontend's hook for tensors of several devices",
    ]


def test_a_call_that_fails_leaves_the_depth_as_it_was(traced, registry, library, capsys):
    library.define("f() -> int")
    library.impl("f", lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            registry.ops.t.f()
    assert [line[:4] for line in capsys.readouterr().err.splitlines()] == ["t::f", "t::f"]


def test_other_threads_are_named_and_nest_by_themselves(traced, registry, library, capsys):
    library.define("leaf() -> int")
    library.define("f() -> int")
    library.impl("leaf", lambda: 1)

    def kernel():
        thread = threading.Thread(target=registry.ops.t.leaf, name="helper")
        thread.start()
        thread.join()
        return 1

    library.impl("f", kernel)
    registry.ops.t.f()
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("t::f ")
    assert second.startswith("[helper] t::leaf ")
