"""The object in a function's place: a function to everybody but callers, and what it serves."""

from __future__ import annotations

import copy
import functools
import gc
import importlib.metadata
import inspect
import os
import pickle
import pydoc
import subprocess
import sys
import threading
import tomllib
import weakref
from pathlib import Path
from types import FunctionType

import pytest

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_calls_native._front", reason="the extension is not built: run nox -s native")

import dispatch_core as dc
import torchlike as T
from dispatch_calls_native import find_front
from dispatch_core.calls import native
from dispatch_core.calls.native.plans import CallPlan
from dispatch_core.operators.overloads import OpOverload, is_overload

front = find_front()
pytestmark = pytest.mark.skipif(native.find_front() is None, reason="the compiled front is turned off")
ADD = dc.ops.aten.add.Tensor
#: More calls than those whose results are compared, after which the front serves an operator.
MANY = 80


def serve_all(call):
    for _ in range(MANY):
        found = call()
    return found


@pytest.fixture
def library():
    made = dc.Library("front_object", "DEF")
    yield made
    made.close()


def test_the_core_takes_the_extension_that_is_built():
    assert native.find_front() is front
    assert front.LAYOUT == native.LAYOUT == 11
    assert native.describe_front() == (True, "the compiled front of dispatch-calls-native is on")


def test_both_distributions_have_one_version():
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["version"] == importlib.metadata.version("dispatch-core")


@pytest.mark.parametrize("function", [ADD, T.add, T.Tensor.view, T.neg], ids=lambda function: function.__name__)
def test_it_is_the_function_to_everybody_but_callers(function):
    python = front.python_of(function)
    assert type(function) is front.Front
    assert type(python) is FunctionType
    assert isinstance(function, FunctionType)
    assert inspect.isfunction(function)
    assert inspect.isroutine(function)
    assert callable(function)
    assert function.__doc__ is python.__doc__
    assert object.__getattribute__(function, "__doc__") is python.__doc__
    assert function.__dict__ is python.__dict__
    assert vars(function) is python.__dict__
    assert function.__code__ is python.__code__
    assert repr(function) == repr(python)
    assert inspect.signature(function) == inspect.signature(python)
    assert pydoc.plain(pydoc.render_doc(function)) == pydoc.plain(pydoc.render_doc(python))
    assert copy.copy(function) is function
    assert copy.deepcopy(function) is function
    assert weakref.ref(function)() is function
    assert {function: 1}[function] == 1

    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    assert wrapper.__wrapped__ is function
    assert wrapper.__name__ == python.__name__
    assert wrapper.__doc__ is python.__doc__


def test_an_overload_is_one():
    assert is_overload(ADD)
    assert isinstance(ADD, OpOverload)
    assert type(ADD).__module__ == "dispatch_calls_native._front"
    assert ADD.name == "aten::add.Tensor"


def test_it_is_equal_to_itself_alone():
    assert ADD.__eq__(ADD) is True
    assert ADD.__ne__(ADD) is False
    assert ADD.__eq__(front.python_of(ADD)) is NotImplemented
    assert ADD.__hash__() == hash(ADD)


def test_attributes_are_set_and_deleted_in_the_function():
    ADD.note_of_a_test = 1
    assert front.python_of(ADD).note_of_a_test == 1
    del ADD.note_of_a_test
    assert not hasattr(ADD, "note_of_a_test")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_it_is_pickled_by_its_name(protocol):
    assert pickle.loads(pickle.dumps(ADD, protocol)) is ADD
    assert pickle._loads(pickle._dumps(ADD, protocol)) is ADD


def test_it_binds_as_a_method():
    x = T.ones(2)
    method = x.view
    assert inspect.ismethod(method)
    assert method.__self__ is x
    assert method(2, 1).shape == (2, 1)
    assert T.Tensor.view is method.__func__


def test_a_kernel_is_run_at_once_after_the_first_calls():
    x = T.tensor([1.0, 2.0])
    serve_all(lambda: T.add(x, x))
    assert 2 in front.list_ways(T.add)
    serve_all(lambda: ADD(x, x, alpha=1))
    assert 2 in front.list_ways(ADD)


def test_arrays_alone_are_served_and_not_beside_tensors():
    a, b = T.ones(2, 3).numpy(), T.ones(2, 3).numpy()
    results = {
        ADD: (a, b),
        dc.ops.aten.neg.default: (a,),
        dc.ops.aten.add_.Tensor: (a, b),
        dc.ops.aten.view.default: (a, [6]),
        dc.ops.aten.max.dim: (a, 1),
        dc.ops.aten.cat.default: ([a, b],),
    }
    for op, args in results.items():
        serve_all(lambda op=op, args=args: op(*args))
        assert 2 in front.list_ways(op)
        found, expected = op(*args), front.python_of(op)(*args)
        assert type(found) is type(expected)
        if op is dc.ops.aten.add_.Tensor:
            assert found is a
        if op is dc.ops.aten.view.default:
            assert found.base is expected.base
    with pytest.raises(dc.FrontendMismatchError):
        ADD(a, T.ones(2, 3))
    with pytest.raises(dc.FrontendMismatchError):
        ADD(a, T.nn.Parameter(T.ones(2, 3)))
    with pytest.raises(dc.ArgumentError):
        ADD(a, object())


def test_profiles_and_traces_miss_no_call():
    def show(*, on):
        x, w = T.ones(2, 3), T.ones(3, 3).requires_grad_()
        was = front.serve(on)
        try:
            with dc.profile() as profile:
                for _ in range(3):
                    (x @ w).view(6)[0].mul(2.0).sum().backward()
            with dc.trace() as trace:
                T.add(x, x).t().neg_()
        finally:
            front.serve(was)
        return [event.name for event in profile.events], trace.code

    serve_all(lambda: show(on=False))
    serve_all(lambda: show(on=True))
    names, code = show(on=True)
    assert (names, code) == show(on=False)
    assert names.count("aten::sum") == 3
    assert "ops.aten.neg_.default" in code


@pytest.mark.filterwarnings("ignore::dispatch_core.errors.OverwriteWarning")
def test_a_kernel_that_is_registered_runs_at_the_next_call(library):
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    op, x = dc.ops.front_object.twice.default, T.ones(2)
    assert serve_all(lambda: op(x)).tolist() == [2, 2]
    assert front.list_ways(op) == [2]
    other = dc.Library("front_object", "IMPL")
    other.impl("twice", lambda x: x * 3, "CPU")
    assert front.list_ways(op) == []
    assert serve_all(lambda: op(x)).tolist() == [3, 3]
    other.close()
    assert op(x).tolist() == [2, 2]


def test_nothing_keeps_a_kernel_that_is_gone(library):
    def kernel(x):
        return x * 2

    library.define("kept(Tensor x) -> Tensor")
    other = dc.Library("front_object", "IMPL")
    other.impl("kept", kernel, "CPU")
    op, x, seen = dc.ops.front_object.kept.default, T.ones(2), weakref.ref(kernel)
    serve_all(lambda: op(x))
    del kernel
    other.close()
    gc.collect()
    assert seen() is None


def test_a_schema_may_be_another_one():
    first = dc.Library("front_schema", "DEF")
    first.define("op(Tensor x) -> Tensor")
    first.impl("op", lambda x: x * 2, "CPU")
    op, x = dc.ops.front_schema.op.default, T.ones(2)
    assert serve_all(lambda: op(x)).tolist() == [2, 2]
    first.close()
    with pytest.raises(dc.ClosedOperatorError):
        op(x)
    second = dc.Library("front_schema", "DEF")
    second.define("op(Tensor x, int n=5) -> Tensor")
    second.impl("op", lambda x, n: x * n, "CPU")
    op = dc.ops.front_schema.op.default
    assert serve_all(lambda: op(x)).tolist() == [5, 5]
    assert serve_all(lambda: op(x, n=3)).tolist() == [3, 3]
    second.close()


def test_a_kernel_may_close_its_own_library_and_call_again():
    library = dc.Library("front_closing", "DEF")
    library.define("op(Tensor x, int n) -> Tensor")
    calls = []

    def kernel(x, n):
        calls.append(n)
        if n == 1:
            other.close()
            gc.collect()
        return x * n

    other = dc.Library("front_closing", "IMPL")
    other.impl("op", kernel, "CPU")
    op, x = dc.ops.front_closing.op.default, T.ones(2)
    serve_all(lambda: op(x, 2))
    assert op(x, 1).tolist() == [1, 1]
    with pytest.raises(dc.NoKernelError):
        op(x, 2)
    library.close()


def test_an_interrupt_in_a_kernel_goes_on_to_the_caller(library):
    library.define("stopped(Tensor x, bool stops) -> Tensor")

    def kernel(x, stops):
        if stops:
            raise KeyboardInterrupt
        return x + 0

    library.impl("stopped", kernel, "CPU")
    op, x = dc.ops.front_object.stopped.default, T.ones(2)
    serve_all(lambda: op(x, False))
    assert front.list_ways(op) == [2]
    with pytest.raises(KeyboardInterrupt):
        op(x, True)
    assert op(x, False).tolist() == [1, 1]


@pytest.mark.parametrize("part", ["make_plan", "make_target"])
def test_an_interrupt_while_a_plan_or_a_target_is_made_goes_on_to_the_caller(part, library):
    library.define("planned(Tensor x) -> Tensor")
    library.impl("planned", lambda x: x + 0, "CPU")
    op, x = dc.ops.front_object.planned.default, T.ones(2)
    op(x)
    stops = [True]

    def make_plan():
        if part == "make_plan" and stops[0]:
            raise KeyboardInterrupt
        return Plan(op._entry, None, front).make_plan()

    class Plan(CallPlan):
        def make_target(self, *given):
            if part == "make_target" and stops[0]:
                raise KeyboardInterrupt
            return super().make_target(*given)

    made = front.Front(front.python_of(op), make_plan)
    with pytest.raises(KeyboardInterrupt):
        made(x)
    stops.clear()
    stops.append(False)
    assert serve_all(lambda: made(x)).tolist() == [1, 1]
    assert front.list_ways(made) == [2]


def test_a_subclass_that_computes_its_mask_is_left_to_python(library):
    class Computing(T.Tensor):
        @property
        def _dispatch_mask(self):
            return T.ones(1)._dispatch_mask

    library.define("seen(Tensor x) -> Tensor")
    library.impl("seen", lambda x: x + 0, "CPU")
    op, x = dc.ops.front_object.seen.default, T.ones(2)
    serve_all(lambda: op(x))
    odd = object.__new__(Computing)
    odd._dispatch_data = x._dispatch_data
    assert op(odd).tolist() == [1, 1]


@pytest.mark.parametrize("name", ["shape", "dtype", "device", "ndim", "requires_grad", "itemsize", "nbytes"])
def test_a_question_is_the_property_to_everybody_but_tensors(name):
    owner = next(cls for cls in T.Tensor.__mro__ if name in vars(cls))
    found, x = vars(owner)[name], T.ones(2, 3)
    assert type(found) is front.Question
    assert isinstance(found, property)
    plain = property(found.fget, found.fset, found.fdel)
    assert found.__doc__ == plain.__doc__
    assert found.__get__(None, T.Tensor) is found
    assert found.__get__(x) == plain.__get__(x)
    was = front.serve(False)
    assert getattr(x, name) == plain.__get__(x)
    front.serve(was)
    text = r"property '\w+' of 'Tensor' object has no setter|must be a bool"
    with pytest.raises((AttributeError, RuntimeError), match=text):
        setattr(x, name, 1)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("name", ["grad", "grad_fn", "is_leaf", "requires_grad"])
def test_a_question_about_a_history_has_the_answer_of_python(name):
    found = vars(T.Tensor.__mro__[1])[name]
    assert type(found) is front.Question
    plain = property(found.fget, found.fset, found.fdel)
    leaf = T.ones(2, requires_grad=True)
    (leaf * 3).sum().backward()
    result, part = leaf * 2, (leaf * 2)[0]
    kept = leaf * 2
    kept.retain_grad()
    kept.sum().backward()
    with T.no_grad():
        copy = leaf.view(1, 2)
    tensors = [T.ones(2), leaf, result, part, kept, copy, T.nn.Parameter(leaf), leaf.detach(), leaf.split(1)[0]]
    for each in tensors:
        assert found.__get__(each) is plain.__get__(each)


def test_a_gradient_that_is_not_kept_is_warned_of():
    result = T.ones(2, requires_grad=True) * 2
    for _ in range(2):
        with pytest.warns(UserWarning, match="not a leaf Tensor"):
            assert result.grad is None


@pytest.mark.parametrize(
    "name",
    "size stride dim ndimension numel nelement is_contiguous element_size is_floating_point is_complex".split(),
)
def test_a_method_that_is_a_question_is_the_function_to_everybody_but_callers(name):
    found, x = vars(T.Tensor)[name], T.ones(2, 3)
    python = front.python_of(found)
    assert type(found) is front.Method
    assert isinstance(found, FunctionType)
    assert found.__name__ == python.__name__
    assert found.__doc__ is python.__doc__
    assert inspect.signature(found) == inspect.signature(python)
    given = [(), (0,), (-1,)] if name in ("size", "stride") else [()]
    shapes = [(), (0,), (2, 0), (2, 3), (1, 1)]
    for each in [T.ones(shape) for shape in shapes] + [
        x.t(),
        x.expand(4, 2, 3),
        T.nn.Parameter(x),
        T.ones(2, device="meta"),
        *(T.ones(2, dtype=dtype) for dtype in (T.bool, T.int8, T.uint16, T.float16, T.bfloat16, T.complex64)),
    ]:
        for args in given if each.ndim else [()]:
            answered, expected = found(each, *args), python(each, *args)
            assert answered == expected
            assert type(answered) is type(expected)
    with pytest.raises(TypeError):
        found()
    with pytest.raises(TypeError):
        found(x, 1, 2)


def test_a_method_that_is_a_question_leaves_other_arguments_to_python():
    x = T.ones(2, 3)
    assert x.size(dim=1) == 3
    assert x.size(None) == x.shape
    for wrong in (2, -3, 2**70):
        with pytest.raises(IndexError, match="Dimension out of range"):
            x.size(wrong)
    assert not x.t().is_contiguous()
    assert T.ones(1, 2, 1, 1).is_contiguous(memory_format=T.channels_last)


def test_a_class_that_changes_is_looked_at_again():
    class Plain(T.nn.Parameter):
        pass

    x = Plain(T.ones(2, 3))
    assert [x.size(0), x.dim()] == [2, 2]
    Plain._dispatch_data = property(lambda self: T.ones(5, 6, 7).numpy())
    assert [x.size(0), x.dim()] == [5, 3]
    del Plain._dispatch_data
    assert [x.size(0), x.dim()] == [2, 2]


INDICES = [
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, None, 2),
    None,
    ...,
    (),
    (0, 1),
    (..., 0),
    (None, 1, slice(1, 2)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_plain_items_are_those_of_python(index):
    read = T.Tensor.__getitem__
    assert type(read) is front.Item
    python = front.python_of(read)
    for x in (T.arange(12.0).reshape(3, 4), T.arange(12.0).reshape(4, 3).t(), T.ones(2, 3, requires_grad=True)):
        found, expected = read(x, index), python(x, index)
        assert found is not x
        assert found.tolist() == expected.tolist()
        assert found.stride() == expected.stride()
        assert found.storage_offset() == expected.storage_offset()
        assert found.requires_grad == expected.requires_grad
        assert found._is_view()
        assert found._base is expected._base


def test_items_with_a_mode_go_to_its_handler():
    seen = []

    class Mode(T.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = T.ones(2, 3)
    with Mode():
        assert x[0].shape == (3,)
    assert "__getitem__" in seen


def test_an_error_of_an_operator_of_items_passes_the_frames_of_python():
    library = dc.Library("aten", "IMPL")

    def refuse(*args):
        raise ValueError("on purpose")

    x, shown = T.ones(2, 3), []
    try:
        for name in ("select.int", "slice.Tensor"):
            library.impl(name, refuse, "CPU", allow_override=True)
        for index in (0, slice(1, None), (0, 1), (..., slice(1, None))):
            for on in (False, True):
                was = front.serve(on)
                with pytest.raises(ValueError, match="on purpose") as caught:
                    x[index]
                front.serve(was)
                shown.append([each.name for each in caught.traceback])
    finally:
        library.close()
    assert shown[::2] == shown[1::2]


def test_a_question_knows_its_arguments():
    layout, plain, method = front.Layout(T.Tensor, None), property(lambda self: 1), lambda self: 1
    good = (layout, None, "shape", None, None, None, None, 0, None, False, None, None)
    for make, own in ((front.Question, (plain,)), (lambda *given: front.Method(*given, False), (method,))):
        make(*own, good)
        for wrong in (
            own,
            (1, good),
            (*own, ()),
            *[
                (*own, (*good[:at], value, *good[at + 1 :]))
                for at, value in enumerate((None, 1, 1, [], 1, 1, 1, 1.5, "no_slot"))
                if at != 1
            ],
            (*own, (*good[:7], 1, *good[8:])),
        ):
            with pytest.raises(TypeError):
                make(*wrong)
    good = (method, layout, None, (), *[len] * 4, method, method)
    front.Item(*good)
    for at in (0, 1, 8, 9):
        with pytest.raises(TypeError):
            front.Item(*good[:at], 1, *good[at + 1 :])


def test_specs_that_it_does_not_take_are_refused():
    layout = front.Layout(T.Tensor, None)
    for make, wrong in (
        (front.Target, {}),
        (front.Target, {"way": 9, "count": 1}),
        (front.Target, {"way": 1, "count": 99}),
        (front.Target, {"way": 1, "count": 1, "runner": None, "thrower": None}),
        (front.Target, {"way": 2, "count": 1}),
        (front.Plan, {}),
        (front.Plan, {"layouts": (layout,), "parameters": (1, 2)}),
    ):
        with pytest.raises((KeyError, TypeError, ValueError)):
            make(wrong)
    for wrong in ((int, None), (1, None), (T.Tensor,)):
        with pytest.raises(TypeError):
            front.Layout(*wrong)
    for wrong in ((1, 2), (len, None)):
        with pytest.raises(TypeError):
            front.Front(*wrong)
    for ask in (front.forget, front.forget_targets, front.list_ways, front.python_of, front.raise_error):
        with pytest.raises(TypeError):
            ask(1)


@pytest.mark.filterwarnings("ignore::dispatch_core.errors.OverwriteWarning")
def test_threads_and_a_registering_one_agree():
    library = dc.Library("front_threads", "DEF")
    library.define("op(Tensor x) -> Tensor")
    library.impl("op", lambda x: x * 2, "CPU")
    op, x, wrong, stop = dc.ops.front_threads.op.default, T.ones(3), [], threading.Event()

    def call():
        while not stop.is_set():
            found = op(x).tolist()
            if found not in ([2, 2, 2], [3, 3, 3]) or T.add(x, x).tolist() != [2, 2, 2]:
                wrong.append(found)

    threads = [threading.Thread(target=call, daemon=True) for _ in range(3)]
    for each in threads:
        each.start()
    try:
        for _ in range(60):
            other = dc.Library("front_threads", "IMPL")
            other.impl("op", lambda x: x * 3, "CPU")
            op(x)
            other.close()
    finally:
        stop.set()
    for each in threads:
        each.join(60)
    library.close()
    assert wrong == []


@pytest.mark.parametrize(("value", "remark"), [("1", "is on"), ("0", "is off, because DISPATCH_NATIVE is '0'")])
def test_the_variable_turns_it_off(value, remark):
    text = "from dispatch_core.calls import describe_front; print(describe_front()[1])"
    text += "; import torchlike as T; print(type(T.add))"
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "DISPATCH_NATIVE": value},
    )
    first, second = done.stdout.splitlines()
    assert remark in first
    assert ("function" in second) == (value == "0")
