"""Modes: which calls a handler gets and with which arguments, what its results become, and that nothing stays on."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

import dispatch_core as dc


@pytest.fixture
def operators(registry, library, toy):
    """Operators on toy arrays: functional, in place, with ``out``, a view, several results, a factory, composites."""
    made = toy.array

    def view(array):
        found = made(0)
        found.a = array.a[:1]
        return found

    def add_out(a, b, *, out):
        out.a[...] = a.a + b.a
        return out

    schemas = {
        "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor": lambda a, b, *, alpha: made(a.a + alpha * b.a),
        "add_(Tensor(a!) self, Tensor other) -> Tensor(a!)": lambda a, b: (a.a.__iadd__(b.a), a)[1],
        "add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)": add_out,
        "first(Tensor(a) self) -> Tensor(a)": view,
        "parts(Tensor(a) self, int[] sizes=[1]) -> Tensor(a)[]": lambda a, sizes: [view(a), view(a)],
        "minmax(Tensor self) -> (Tensor low, Tensor high)": lambda a: (made(a.a.min()), made(a.a.max())),
        "maybe(Tensor self, bool yes=True) -> Tensor?": lambda a, yes: made(a.a) if yes else None,
        "total(Tensor self) -> float": lambda a: float(a.a.sum()),
        "clear(Tensor(a!) self) -> ()": lambda a: a.a.fill(0),
    }
    for schema, kernel in schemas.items():
        library.impl(library.define(schema), kernel, toy.key)
    library.impl(library.define("twice(Tensor x) -> Tensor"), lambda x: registry.ops.t.add(x, x))
    library.impl(
        library.define("thrice(Tensor x) -> Tensor"),
        lambda x: registry.ops.t.add(x, registry.ops.t.add(x, x)),
        "CompositeExplicitAutograd",
    )
    return registry.ops.t


@pytest.fixture(params=["raw", "wrapped"])
def tensor(request, toy, tensors):
    """Make raw arrays, or the same in a frontend's tensors."""
    return toy.array if request.param == "raw" else lambda value: tensors.wrap(toy.array(value))


@pytest.fixture
def make_mode(registry):
    """Make a mode that notes the calls and hands each to ``answer``, or passes it on."""

    def make(answer=None, *, name="", seen=None):
        class Noting(dc.DispatchMode):
            def __init__(self):
                self.seen = [] if seen is None else seen

            def __dispatch__(self, func, types, args=(), kwargs=None):
                self.seen.append(name + func.name.removeprefix("t::"))
                return func(*args, **(kwargs or {})) if answer is None else answer(func, types, args, kwargs)

        Noting.registry = registry
        return Noting()

    return make


def data(value):
    if isinstance(value, list | tuple):
        return type(value)(map(data, value))
    found = getattr(value, "_dispatch_data", value)
    return found.a.tolist() if hasattr(found, "a") else found


def test_the_handler_gets_every_call_of_the_block_and_its_result_is_the_calls(operators, tensor, make_mode):
    x, y = tensor([1, 2]), tensor([3, 4])
    mode = make_mode()
    assert data(operators.add(x, y)) == [4, 6]
    with mode as entered:
        assert entered is mode
        z = operators.add(x, y, alpha=2)
        assert data(operators.add(z, x)) == [8, 12]
        assert data(operators.minmax(z)) == (7, 10)
        assert operators.total(z) == 17
    operators.add(x, y)
    assert mode.seen == ["add", "add", "minmax", "total"]
    with make_mode(lambda func, types, args, kwargs: args[0]):
        assert operators.add(x, y) is x


def test_arguments_that_equal_their_defaults_are_left_out(operators, tensor, make_mode):
    x = tensor([1, 2])
    given = []
    with make_mode(lambda func, types, args, kwargs: given.append((func, types, args, kwargs)) or x):
        operators.add(x, x)
        operators.add(x, x, alpha=1)
        operators.add(x, x, alpha=True)
        operators.add(other=x, self=x, alpha=3)
        operators.maybe(x)
        operators.maybe(x, False)
    assert [(func, types) for func, types, *_ in given] == [(operators.add.default, ())] * 4 + [
        (operators.maybe.default, ())
    ] * 2
    assert [(len(args), kwargs) for _, _, args, kwargs in given] == [
        (2, {}), (2, {}), (2, {"alpha": True}), (2, {"alpha": 3}), (1, {}), (2, {})
    ]  # fmt: skip


def test_written_arguments_and_views_keep_their_identity(operators, tensor, make_mode):
    x, y, out = tensor([1, 2]), tensor([3, 4]), tensor([0, 0])
    with make_mode() as mode:
        assert operators.add_(x, y) is x
        assert operators.add(x, y, out=out) is out
        view = operators.first(x)
        first, second = operators.parts(x)
        operators.clear(y)
    assert data(x) == [4, 6] and data(out) == [7, 10] and data(y) == [0, 0]
    operators.add_(x, x)
    assert data(view) == data(first) == data(second) == [8]
    assert mode.seen == ["add_", "add.out", "first", "parts", "clear"]


@pytest.mark.parametrize("answer", ["another", "nothing"])
def test_a_written_argument_is_the_result_whatever_tensor_the_handler_returns(operators, tensor, make_mode, answer):
    x, out = tensor([1, 2]), tensor([0, 0])
    with make_mode(lambda *_: tensor([9]) if answer == "another" else None):
        assert operators.add_(x, x) is x
        assert operators.add(x, x, out=out) is out
        assert operators.clear(x) is None
    assert data(x) == [1, 2] and data(out) == [0, 0]


def test_composites_show_their_parts_unless_they_are_explicit(operators, tensors, toy, make_mode):
    x = tensors.wrap(toy.array([1, 2]))
    with make_mode() as mode:
        assert data(operators.twice(x)) == [2, 4]
        assert data(operators.thrice(x)) == [3, 6]
    assert mode.seen == ["add", "thrice"]


def test_a_factory_returns_an_array_to_its_caller_and_to_a_handler_a_tensor_where_the_mode_has_a_class(
    registry, library, tensors, make_backend, make_mode
):
    device = make_backend("anvil")
    library.define("made(int n, *, Device? device=None) -> Tensor")
    library.impl("made", lambda n, *, device: anvil([n]), device.key)
    anvil, seen = device.array, []

    def call():
        return registry.ops.t.made(3, device="anvil")

    class Making(dc.DispatchMode):
        def __dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func(*args, **(kwargs or {})))
            return seen[-1]

    Making.registry = registry
    with Making():
        assert type(call()) is anvil
    Making.tensor_type = tensors.tensor_type
    with make_mode() as outer, Making(), make_mode() as inner:
        assert type(call()) is anvil
    assert [type(each) for each in seen] == [anvil, tensors.tensor_type]
    assert outer.seen == inner.seen == ["made"]


def test_modes_nest_and_the_innermost_has_a_call_first(operators, tensor, make_mode):
    seen = []
    outer, inner = (make_mode(name=name, seen=seen) for name in ("outer ", "inner "))
    x = tensor([1])
    with outer, inner:
        operators.add(x, x)
    with outer, outer, inner, outer:
        operators.add(x, x)
    operators.add(x, x)
    add = [f"{name} add" for name in ("inner", "outer", "outer", "inner", "outer", "outer")]
    assert seen == add


def test_a_handler_may_enter_its_mode_again(operators, tensor, make_mode):
    def answer(func, types, args, kwargs):
        if func.name == "t::minmax":
            with mode:
                low = operators.add(*args, *args)
            return low, func(*args)[1]
        return func(*args, **kwargs)

    mode = make_mode(answer)
    with mode:
        assert data(operators.minmax(tensor([2]))) == ([4], 2)
    assert mode.seen == ["minmax", "add"]


def test_an_exception_leaves_nothing_on(operators, tensor, make_mode):
    def answer(func, types, args, kwargs):
        if func.name == "t::minmax":
            raise OSError("on purpose")
        return func(*args, **kwargs)

    x, mode, outer = tensor([1]), make_mode(answer), make_mode()
    with outer, mode:
        with pytest.raises(OSError, match="on purpose"):
            operators.minmax(x)
        operators.add(x, x)
    with pytest.raises(OSError, match="on purpose"), mode:
        operators.minmax(x)
    operators.add(x, x)
    assert mode.seen == ["minmax", "add", "minmax"]
    assert outer.seen == ["add"]
    assert dc.apply_masks("CPU") == dc.DispatchKeySet(["CPU"])


def test_results_of_the_wrong_kind_are_refused_where_they_are_returned(operators, tensor, make_mode):
    x = tensor([1, 2])
    for call, wrong in (
        (lambda: operators.add(x, x), ("text", 3, None, [x], (x,))),
        (lambda: operators.add_(x, x), ("text", 3, [x])),
        (lambda: operators.first(x), ("text", None, [x])),
        (lambda: operators.parts(x), ("text", None, x, [x, 3])),
        (lambda: operators.minmax(x), ("text", None, x, [x], (x, x, x), (x, 3))),
        (lambda: operators.maybe(x), ("text", 3, [x])),
    ):
        for answer in wrong:
            with make_mode(lambda *_, answer=answer: answer), pytest.raises(dc.KernelResultError) as caught:
                call()
            assert "the handler of a mode returned" in str(caught.value)
            assert "Hint: return the result of func(*args, **kwargs)" in str(caught.value)
    with make_mode(lambda *_: None):
        assert operators.maybe(x) is None


def test_not_implemented_is_refused_with_the_mode_named(operators, tensor, make_mode):
    x, outer = tensor([1]), make_mode()
    with outer, make_mode(lambda *_: NotImplemented), pytest.raises(TypeError) as caught:
        operators.add(x, x)
    assert str(caught.value).startswith(
        "Multiple dispatch failed for 't::add'; all __dispatch__ handlers returned NotImplemented:\n  - mode object "
    )
    assert outer.seen == []


def test_a_mode_without_a_handler_says_so(registry, operators, tensor):
    class Empty(dc.DispatchMode):
        pass

    Empty.registry = registry
    with Empty(), pytest.raises(NotImplementedError, match="Empty does not define __dispatch__"):
        operators.add(tensor([1]), tensor([1]))


def test_operators_without_a_schema_and_with_any_number_of_arguments(registry, library, toy, make_mode):
    registry.register_kernel("t::free", toy.key, lambda *args, **kwargs: toy.array([len(args) + len(kwargs)]))
    x = toy.array([1])
    with make_mode() as mode:
        assert data(registry.ops.t.free(x, 2, y=3)) == [3]
    assert mode.seen == ["free"]


def test_an_instance_may_have_attributes_of_the_classes_names(operators, tensor, make_mode):
    mode = make_mode()
    mode.registry, mode.tensor_type, mode.handler_name = {}, 3, "x"
    with mode:
        operators.add(tensor([1]), tensor([1]))
    assert mode.seen == ["add"]


def test_modes_of_two_registries_do_not_see_each_others_calls(operators, tensor, make_mode):
    other = dc.Registry()
    library = dc.Library("t", "DEF", registry=other)
    library.define("f(int x) -> int")
    library.impl("f", lambda x: x + 1, "CompositeExplicitAutograd")

    class Other(dc.DispatchMode):
        def __dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {})) * 10

    Other.registry = other
    x = tensor([1])
    with Other(), make_mode() as mode, Other():
        assert other.ops.t.f(1) == 200
        operators.add(x, x)
    assert mode.seen == ["add"]


def test_other_threads_do_not_see_a_mode_and_copied_contexts_do(operators, toy, make_mode):
    x, mode = toy.array([1]), make_mode()
    with mode:
        context = contextvars.copy_context()
        for target, *given in ((operators.add, x, x), (context.run, operators.first, x)):
            thread = threading.Thread(target=target, args=given)
            thread.start()
            thread.join()
    assert mode.seen == ["first"]
    # A block has ended in a context that outlives it, too.
    context.run(operators.add, x, x)
    assert mode.seen == ["first"]


def test_two_threads_may_be_in_one_mode(operators, toy, make_mode):
    x, mode, meet = toy.array([1]), make_mode(), threading.Barrier(2, timeout=10)

    def enter():
        with mode:
            meet.wait()
            operators.add(x, x)
            meet.wait()
        operators.first(x)

    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mode.seen == ["add", "add"]


def test_tasks_of_asyncio_have_modes_of_their_own(operators, toy, make_mode):
    x, first, second = toy.array([1]), make_mode(), make_mode()

    async def run(mode, name):
        with mode:
            for _ in range(3):
                getattr(operators, name)(x)
                await asyncio.sleep(0)

    async def run_both():
        await asyncio.gather(run(first, "first"), run(second, "total"))

    asyncio.run(run_both())
    assert first.seen == ["first"] * 3
    assert second.seen == ["total"] * 3


def test_modes_are_left_in_the_opposite_order(make_mode):
    outer, inner = make_mode(), make_mode()
    outer.__enter__()
    with inner, pytest.raises(dc.DispatchError, match="Noting: the block ends where it is not the innermost mode"):
        outer.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    with pytest.raises(dc.DispatchError, match="not the innermost"):
        outer.__exit__(None, None, None)


def test_keys_that_are_masked_in_the_block_stay_masked_in_the_handler(registry, operators, toy, make_mode):
    ran = []
    layer = dc.Library("_", "IMPL", registry=registry)
    for key in ("PreDispatch", "Conjugate", "Pipeline"):
        layer.fallback(
            lambda keyset, op, *args, key=key, **kwargs: (
                ran.append(key), op.redispatch(keyset - dc.DispatchKey[key], *args, **kwargs)
            )[1],
            key,
            with_keyset=True,
        )  # fmt: skip
    x = toy.array([1])
    with dc.include_keys("PreDispatch", "Conjugate", "Pipeline"), make_mode() as mode, dc.exclude_keys("Conjugate"):
        operators.add(x, x)
    # Those above the mode saw the call before it; those below see the handler's.
    assert ran == ["PreDispatch", "Pipeline"]
    assert mode.seen == ["add"]


def test_a_profile_shows_the_call_and_the_handlers(registry, operators, tensor, make_mode):
    x = tensor([1])
    with dc.profile(registry=registry) as profile, make_mode():
        operators.add(x, x)
    assert [(event.name, event.depth) for event in profile.events] == [("t::add", 0), ("t::add", 1)]


def test_a_trace_records_the_call_and_not_the_handlers(registry, operators, tensor, make_mode):
    x = tensor([1])
    with (
        dc.trace(registry=registry) as trace,
        make_mode(lambda func, types, args, kwargs: operators.add(*args, alpha=5)),
    ):
        operators.add(x, x)
    assert len(trace.graph.steps) == 1
    assert data(trace.replay(tensor([1]))) == [2]


def test_a_pipeline_records_what_the_handler_calls(work, make_mode, numbers):
    x, y = work.tensor(1.0), work.tensor(2.0)
    with work.pipeline() as pipe, make_mode() as mode:
        z = work.ops.add(work.ops.double(x), y)
        work.ops.add_(z, y)
        assert work.ran == []
        assert pipe.stats().recorded == 3
    assert mode.seen == ["double", "add", "add_"]
    assert numbers(z) == [6.0]
