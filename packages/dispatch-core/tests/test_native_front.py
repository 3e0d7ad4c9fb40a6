"""A compiled front is taken where it fits, and named where it is refused; no compiler is needed here."""

from __future__ import annotations

import platform
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from types import FunctionType, SimpleNamespace

import pytest

import dispatch_core as dc
from dispatch_core.calls import describe_front, native
from dispatch_core.calls.native import LAYOUT, find_front
from dispatch_core.devices import Device
from dispatch_core.keys import context
from dispatch_core.surroundings.extensions import list_extensions


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
    with pytest.warns(
        RuntimeWarning, match="Compiled extensions are off, because the environment variable DISPATCH_NATIVE"
    ):
        is_on, remark = describe_front()
    assert not is_on
    assert remark == (
        "the compiled front of calls is off, because the environment variable DISPATCH_NATIVE is 'maybe', which is neither"
        " yes nor no. Hint: write one of 1, true, yes, on, 0, false, no, off; it is read once in a program"
    )
    assert state_of_front() == "refused"


def state_of_front():
    (extension,) = [each for each in list_extensions() if each.distribution == "dispatch-calls-native"]
    assert extension.name == "front"
    return extension.state


def test_a_module_without_a_layout_is_refused_by_name(distribution):
    distribution(lambda: SimpleNamespace(use=lambda *given: fail(AssertionError("it was used"))))
    is_on, remark = describe_front()
    assert not is_on
    assert remark == (
        "the compiled front of calls is off, because dispatch-calls-native has no layout, and this version of dispatch-core"
        f" takes {LAYOUT}. Hint: install both in one version"
    )
    assert state_of_front() == "refused"


def test_a_module_that_cannot_be_used_is_refused_by_name(distribution):
    distribution(lambda: SimpleNamespace(LAYOUT=LAYOUT))
    is_on, remark = describe_front()
    assert not is_on
    assert "because dispatch-calls-native cannot be used: " in remark


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make a package of that distribution with some files."""
    monkeypatch.delenv("DISPATCH_NATIVE", raising=False)
    monkeypatch.setattr(native, "_found", [])
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "dispatch_calls_native"
    own = [name for name in sys.modules if name.partition(".")[0] == folder.name]
    for name in own:
        monkeypatch.delitem(sys.modules, name)

    def make(*names):
        folder.mkdir()
        (folder / "__init__.py").write_text("from .finding import find_front")
        for name in names:
            (folder / name).touch()
        if "finding.py" in names:
            text = "from importlib import import_module\ndef find_front(): return import_module('._front', __package__)"
            (folder / "finding.py").write_text(text)

    yield make
    for name in [name for name in sys.modules if name.partition(".")[0] == folder.name]:
        del sys.modules[name]


def test_sources_that_are_not_built_are_left_out(package):
    package("finding.py", "_front.c")
    assert describe_front() == (False, "")


@pytest.mark.parametrize("more", [(), ("_front.c",)])
def test_a_module_for_another_python_is_told_by_name(package, more, caplog):
    package("finding.py", "_front.cpython-35-other.so", *more)
    is_on, remark = describe_front()
    assert not is_on
    python, suffix = platform.python_version(), EXTENSION_SUFFIXES[0]
    assert remark == (
        "the compiled front of calls is off, because dispatch-calls-native has no module dispatch_calls_native._front: there"
        f" is _front.cpython-35-other.so, and this Python is {python}, which imports {suffix}. Hint: install it again"
    )
    assert remark in caplog.text
    assert state_of_front() == "refused"


def test_a_package_that_is_not_whole_is_told_by_name(package, monkeypatch):
    package()
    _, remark = describe_front()
    python = platform.python_version()
    assert remark == (
        "the compiled front of calls is off, because dispatch-calls-native has no module dispatch_calls_native.finding:"
        f" this Python is {python}. Hint: install it again"
    )
    monkeypatch.setattr(native, "_found", [])
    monkeypatch.setenv("DISPATCH_NATIVE", "0")
    assert describe_front() == (False, "the compiled front of calls is off, because DISPATCH_NATIVE is '0'")
    assert state_of_front() == "blocked"


def test_a_module_that_is_broken_is_left_out(distribution):
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
