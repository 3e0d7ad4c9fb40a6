"""A compiled front is taken where it fits, and named where it is refused; no compiler is needed here."""

from __future__ import annotations

import sys
from types import FunctionType, SimpleNamespace

import pytest

import dispatch_core as dc
from dispatch_core.calls import describe_front, native
from dispatch_core.calls.native import LAYOUT, find_front
from dispatch_core.devices import Device
from dispatch_core.keys import context


@pytest.fixture
def distribution(monkeypatch):
    """Install a distribution whose module is what a test says."""
    monkeypatch.delenv("DISPATCH_NATIVE", raising=False)
    monkeypatch.setattr(native, "_found", [])

    def install(find):
        monkeypatch.setitem(sys.modules, "dispatch_calls_native", SimpleNamespace(find_front=find))

    return install


def fail(error):
    raise error


def test_a_module_of_this_layout_is_taken_and_told_what_it_uses(distribution):
    used = []
    module = SimpleNamespace(LAYOUT=LAYOUT, use=lambda *given: used.append(given))
    distribution(lambda: module)
    assert find_front() is module
    assert describe_front() == (True, "the compiled front of dispatch-calls-native is on")
    assert used == [(context._state, Device)]
    find_front()
    assert len(used) == 1


def test_a_module_of_another_layout_is_refused_by_name(distribution):
    distribution(lambda: SimpleNamespace(LAYOUT=LAYOUT + 1))
    is_on, remark = describe_front()
    assert not is_on
    assert remark == (
        f"the compiled front of calls is off, because dispatch-calls-native has the layout {LAYOUT + 1}, and this version of"
        f" dispatch-core takes {LAYOUT}. Hint: install both in one version"
    )
    assert find_front() is None


@pytest.mark.parametrize("value", ["0", "off", "No", " false "])
def test_the_variable_turns_it_off(distribution, monkeypatch, value):
    distribution(lambda: fail(AssertionError("it was asked for")))
    monkeypatch.setenv("DISPATCH_NATIVE", value)
    assert describe_front() == (
        False,
        f"the compiled front of calls is off, because DISPATCH_NATIVE is {value.strip()!r}",
    )


def test_a_word_that_is_neither_yes_nor_no_is_named(distribution, monkeypatch):
    distribution(lambda: fail(AssertionError("it was asked for")))
    monkeypatch.setenv("DISPATCH_NATIVE", "maybe")
    is_on, remark = describe_front()
    assert not is_on
    assert "DISPATCH_NATIVE is 'maybe', which is neither yes nor no" in remark


def test_a_module_that_is_not_built_or_broken_is_left_out(distribution, monkeypatch):
    distribution(lambda: fail(ModuleNotFoundError("no _front")))
    assert describe_front() == (False, "")
    monkeypatch.setattr(native, "_found", [])
    distribution(lambda: fail(ImportError("no PyType_Watch")))
    assert describe_front() == (
        False,
        "the compiled front of calls is off, because dispatch-calls-native cannot be imported: no PyType_Watch",
    )


def test_without_the_distribution_operators_are_plain_functions(monkeypatch):
    monkeypatch.setattr(native, "_found", [])
    monkeypatch.setitem(sys.modules, "dispatch_calls_native", None)
    registry = dc.Registry()
    library = dc.Library("plain_functions", "DEF", registry=registry)
    library.define("op(Tensor x) -> Tensor")
    assert type(registry.ops.plain_functions.op.default) is FunctionType
    assert describe_front() == (False, "")
