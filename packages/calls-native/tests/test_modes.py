"""Calls that a mode handles, with the front and without: the same handlers' calls, results, errors and frames."""

from __future__ import annotations

import os
import traceback

import pytest

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_calls_native._front", reason="the extension is not built: run nox -s native")

import dispatch_core as dc
import torchlike as T
from dispatch_core.calls.native import find_front
from dispatch_core.frontends import current_masks, current_modes
from torchlike.utils._python_dispatch import TorchDispatchMode

front = find_front()
pytestmark = pytest.mark.skipif(front is None, reason="the compiled front is turned off")
HANDLED = 5
#: Calls of one kind, after which a call is served in its usual way.
CALLS = 60


@pytest.fixture
def serve():
    yield front.serve
    front.serve(True)


class Seen(dc.DispatchMode):
    """Notes what its handler gets, and what is on in there, and passes the call on."""

    def __init__(self):
        self.calls = []

    def __dispatch__(self, func, types, args=(), kwargs=None):
        shown = [type(each).__name__ for each in args]
        self.calls.append((func.name, types, shown, {**kwargs}, current_masks(), len(current_modes())))
        return self.answer(func, args, kwargs)

    def answer(self, func, args, kwargs):
        return func(*args, **kwargs)


def _fail(func, args, kwargs):
    raise ZeroDivisionError("the handler's own")


def _refuse(func, args, kwargs):
    return NotImplemented


def _return_another_thing(func, args, kwargs):
    return 3


def _interrupt(func, args, kwargs):
    raise KeyboardInterrupt


x = T.tensor([1.0, 2.0])
leaf = T.tensor([1.0, 2.0], requires_grad=True)
CASES = {
    "add": lambda: x + x,
    "with a value": lambda: T.add(x, x, alpha=2),
    "with its default": lambda: T.add(x, x, alpha=1),
    "a dimension": lambda: T.sum(x, 0),
    "a leaf": lambda: leaf * x,
    "a view": lambda: T.t(x),
    "written": lambda: x.clone().mul_(2),
    "several": lambda: T.max(x, 0),
    "a list": lambda: T.cat([x, x]),
    "an overload": lambda: dc.ops.aten.add.Tensor(x, x),
}
ANSWERS = [None, _fail, _refuse, _return_another_thing, _interrupt]


def _show(call, answer):
    mode = Seen()
    if answer is not None:
        mode.answer = answer
    found = None
    with mode:
        for _ in range(CALLS):
            try:
                found = str(call())
            except (dc.DispatchError, ZeroDivisionError, KeyboardInterrupt) as error:
                lines = [(each.filename, each.name) for each in traceback.extract_tb(error.__traceback__)]
                if isinstance(error, KeyboardInterrupt):  # which keeps the frames of the dispatcher
                    lines = [each for each in lines if each[0] == __file__]
                found = type(error), str(error), getattr(error, "__notes__", None), lines
                error.__traceback__ = None
            masks = current_masks()
    return found, mode.calls[-3:], masks, current_masks()


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", CASES)
def test_a_mode_sees_the_same(name, answer, serve):
    call = CASES[name]
    _show(call, answer)  # the first calls' results are compared
    shown = {}
    for on in (False, True):
        serve(on)
        shown[on] = _show(call, answer)
    assert shown[False] == shown[True]


def test_the_front_calls_the_handler_itself():
    add = dc.ops.aten.sub.Tensor
    with Seen() as mode:
        for _ in range(CALLS):
            add(x, x)
    assert HANDLED in front.list_ways(add)
    assert len(mode.calls) == CALLS


def test_a_closed_mode_is_not_called():
    add = dc.ops.aten.sub.Tensor
    for _ in range(3):
        with Seen() as mode:
            for _ in range(CALLS):
                add(x, x)
        add(x, x)
        assert len(mode.calls) == CALLS


def test_the_inner_of_two_modes_comes_first():
    with Seen() as outer:
        for _ in range(CALLS):
            x - x
        with Seen() as inner:
            for _ in range(CALLS):
                x - x
        assert len(inner.calls) == CALLS
        for _ in range(CALLS):
            x - x
    assert len(outer.calls) == 3 * CALLS


def test_a_mode_with_torchs_names_sees_the_overload_that_torch_shows():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((func.overload_name, len(args), kwargs))
            return func(*args, **kwargs)

    seen = []
    with Mode():
        for _ in range(CALLS):
            T.sub(x, x)
            T.sub(x, 2)
    assert seen == [("Tensor", 2, {})] * (2 * CALLS)


def test_a_registration_holds_at_once():
    sub = dc.ops.aten.sub.Tensor
    with Seen():
        for _ in range(CALLS):
            sub(x, x)
        with dc.Library("aten", "IMPL", "CPU") as library:
            with pytest.warns(dc.OverwriteWarning):
                library.impl("sub.Tensor", lambda a, b, *, alpha=1: a + b)
            assert sub(x, x).tolist() == [2.0, 4.0]
        assert sub(x, x).tolist() == [0.0, 0.0]
