"""Tracebacks of users: their own lines, and at most two of the dispatcher's below them."""

from __future__ import annotations

import threading
import traceback

import pytest

import dispatch_core as dc
from dispatch_core import tracebacks
from dispatch_core.tracebacks import GENERATED, api_boundary, hide_frames, trim_traceback

FOLDER = str(dc.__file__).removesuffix("__init__.py")


def frames(error):
    """Return the traceback from the test's own line on; the first frame is the one that catches."""
    return traceback.extract_tb(error.__traceback__)[1:]


def is_ours(frame):
    return frame.filename.startswith((FOLDER, GENERATED))


def names(error):
    return [frame.name for frame in frames(error)]


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


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_error_shows_at_most_two_frames_of_ours(ops, x, fault):
    with pytest.raises(Exception, match=r".") as caught:
        fault(ops, x)
    assert sum(map(is_ours, frames(caught.value))) <= 2
    assert not hasattr(caught.value, "__notes__")


CALLS = {
    "a packet": lambda ops, x: ops.fail(x),
    "an overload": lambda ops, x: ops.fail.default(x),
    "an explicit keyset": lambda ops, x: ops.fail.default.redispatch(dc.DispatchKeySet(["Toy"]), x),
    "a name": lambda ops, x: ops._registry.dispatch("t::fail", x),
    "another operator": lambda ops, x: ops.around(x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_frames_of_the_users_kernel_stay(ops, x, call):
    for _ in range(2):  # the code of the second call was there before
        with pytest.raises(ValueError, match="the user's own") as caught:
            call(ops, x)
        theirs = [frame.name for frame in frames(caught.value) if not is_ours(frame)]
        assert theirs[-2:] == ["fail", "helper"]
        assert theirs[:-2] == ["<lambda>", *["around"] * (call is CALLS["another operator"])]
        assert sum(map(is_ours, frames(caught.value))) <= 1


def test_the_frames_of_a_layer_and_of_a_call_in_it_stay(ops, x, library):
    def layer(keyset, op, *args, **kwargs):
        return op.redispatch(keyset - dc.DispatchKey.PreDispatch, *args, **kwargs)

    with dc.Library("_", "IMPL", registry=ops._registry) as on_top:
        on_top.fallback(layer, "PreDispatch", with_keyset=True)
        with dc.include_keys("PreDispatch"), pytest.raises(ValueError, match="the user's own") as caught:
            ops.fail(x)
    assert names(caught.value) == ["layer", "fail", "helper"]


def test_what_an_error_is_chained_to_stays_and_loses_our_frames_too(registry, library):
    def chained(x):
        try:
            registry.ops.t.inner.default(x)
        except ValueError as error:
            raise RuntimeError("outer") from error

    def inner(x):
        raise ValueError("inner")

    for kernel in (chained, inner):
        library.define(f"{kernel.__name__}(int x) -> int")
        library.impl(kernel.__name__, kernel, "CompositeImplicitAutograd")
    with pytest.raises(RuntimeError) as caught:
        registry.ops.t.chained(1)
    assert names(caught.value) == ["chained"]
    cause = caught.value.__cause__
    assert [frame.name for frame in traceback.extract_tb(cause.__traceback__)] == ["chained", "inner"]


def test_a_group_of_errors_loses_our_frames_in_each(registry, library):
    def several(x):
        found = []
        for value in ("one", "two"):
            try:
                registry.ops.t.several.default(value)
            except TypeError as error:
                found.append(error)
        raise ExceptionGroup("several", found)

    library.define("several(int x) -> int")
    library.impl("several", several, "CompositeImplicitAutograd")
    with pytest.raises(ExceptionGroup) as caught:
        registry.ops.t.several(1)
    assert [[f.name for f in traceback.extract_tb(each.__traceback__)] for each in caught.value.exceptions] == [
        ["several"],
        ["several"],
    ]


def test_an_error_that_is_chained_to_itself_ends():
    error = ValueError("circle")
    error.__context__ = KeyError("other")
    error.__context__.__context__ = error
    trim_traceback(error)
    assert error.__context__.__context__ is error


def test_an_error_by_no_intention_of_ours_says_how_to_see_its_frames():
    def caller():
        return api_boundary(lambda: None.missing)()

    caller.__globals__["__name__"], name = f"{dc.__name__}.for_a_test", caller.__globals__["__name__"]
    try:
        with pytest.raises(AttributeError) as caught:
            caller()
    finally:
        caller.__globals__["__name__"] = name
    assert caught.value.__notes__ == [
        "Hint: DISPATCH_TRACEBACK=full shows 2 frames of dispatch_core's that are left out here"
    ]


def test_an_interrupt_keeps_its_frames(registry, library):
    def stop(x):
        raise KeyboardInterrupt

    library.define("stop(int x) -> int")
    library.impl("stop", stop, "CompositeImplicitAutograd")
    with pytest.raises(KeyboardInterrupt) as caught:
        registry.ops.t.stop(1)
    assert len(frames(caught.value)) > 1


def test_a_thread_sees_no_more(ops, x):
    caught = []

    def run():
        try:
            ops.wrong(x)
        except dc.DispatchError as error:
            caught.append(traceback.extract_tb(error.__traceback__))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert [frame.name for frame in caught[0]] == ["run"]


def test_a_pipeline_shows_the_users_line_and_the_users_hook(work):
    work.fail_with(ValueError("out of paper"))
    with pytest.raises(ValueError, match="out of paper") as caught, work.pipeline():
        kept = work.ops.call(work.array(1, 2))
    assert kept is not None
    assert sum(map(is_ours, frames(caught.value))) <= 2
    cause = traceback.extract_tb(caught.value.__cause__.__traceback__)
    assert cause[-1].name == "hook"
    assert sum(map(is_ours, cause)) <= 2


def test_a_package_may_ask_that_its_frames_be_left_out(ops, x, toy, monkeypatch):
    monkeypatch.setattr(tracebacks, "_HIDDEN", set(tracebacks._HIDDEN))
    scope = {"__name__": "vendor_of_a_test.kernels"}
    exec("def kernel(x, n=1):\n    raise OSError('no chip')", scope)
    ops._registry.register_kernel("t::fail", toy.key, scope["kernel"])
    with pytest.raises(OSError) as caught:
        ops.fail(x)
    assert names(caught.value) == ["kernel"]
    hide_frames("vendor_of_a_test")
    with pytest.raises(OSError) as caught:
        ops.fail(x)
    assert names(caught.value) == []


def test_a_kernel_that_does_not_take_the_arguments_is_named(toy):
    registry = dc.Registry()
    with dc.Library("w", "DEF", registry=registry) as library:
        library.define("double(Tensor self, int n) -> Tensor")
        library.define("half(Tensor self) -> Tensor")

        def takes_nothing():
            raise AssertionError

        def fails_inside(self):
            return takes_nothing(self)

        library.impl("double", takes_nothing, toy.key)
        library.impl("half", fails_inside, toy.key)
        place = f"{__file__}:{takes_nothing.__code__.co_firstlineno}"
        for _ in range(2):
            with pytest.raises(TypeError, match="takes 0 positional arguments but 2 were given") as caught:
                registry.ops.w.double(toy.array([1]), 2)
            assert caught.value.__notes__ == [
                f"Kernel of w::double: {__name__}.{takes_nothing.__qualname__} ({place})",
                "Hint: a kernel takes the arguments of its operator's schema, in that order",
            ]
            with pytest.raises(TypeError, match="takes 0 positional arguments but 1 was given") as caught:
                registry.ops.w.half(toy.array([1]))
            assert not hasattr(caught.value, "__notes__")
