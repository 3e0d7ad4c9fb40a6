"""The Tracer layer: the values of a graph, how it is printed, and that a replay does the same as the recorded calls."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import threading

import pytest

import dispatch_core as dc
from dispatch_core import DispatchKey
from dispatch_pipelines.graph import Constant, Graph, Node


class Mode(enum.IntEnum):
    FAST = 1


class Opaque:
    """A stand-in for a generator: nothing that could be spelled."""


def show(array, a):
    """Return an array that shows NumPy's ``a`` as it is."""
    array.a = a
    return array


@pytest.fixture
def ops(registry, library, toy):
    """A dozen operators on toy arrays; one composite."""
    made = toy.array
    schemas = {
        "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor": lambda a, b, *, alpha: made(a.a + alpha * b.a),
        "add_(Tensor(a!) self, Tensor other) -> Tensor(a!)": lambda a, b: (a.a.__iadd__(b.a), a)[1],
        "add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)": add_out,
        "cat(Tensor[] xs) -> Tensor": lambda xs: made([v for x in xs for v in x.a.ravel()]),
        "pick(Tensor?[] xs, Tensor? y=None) -> Tensor": lambda xs, y: next(x for x in (*xs, y) if x is not None),
        "split(Tensor(a) self) -> Tensor(a)[]": lambda a: [show(made(0), a.a[i, ...]) for i in range(len(a.a))],
        "minmax(Tensor self) -> (Tensor low, Tensor high)": lambda a: (made(a.a.min()), made(a.a.max())),
        "first(Tensor(a) self) -> Tensor(a)": first,
        "item(Tensor self) -> Scalar": lambda a: float(a.a.ravel()[0]),
        "zero_all_(Tensor(a!)[] xs) -> ()": lambda xs: [x.a.fill(0) for x in xs] and None,
        "sizes(Tensor self) -> int[]": lambda a: list(a.a.shape),
        "with_options(Tensor self, *, Any mode, Device? device=None, Any? state=None) -> Tensor": with_options,
        "maybe(Tensor self, bool yes) -> Tensor?": lambda a, yes: a if yes else None,
    }
    for schema, kernel in schemas.items():
        library.impl(library.define(schema), kernel, toy.key)
    library.define("full(int n, *, Device? device=None) -> Tensor")
    library.impl("full", lambda n, *, device: made([n]), toy.key)
    library.define("put(Any data, *, Device? device=None) -> Tensor")
    library.impl("put", lambda data, *, device: data, toy.key)
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: registry.ops.t.add(x, x))
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", lambda x: x)
    return registry.ops.t


def add_out(a, b, *, out):
    out.a[...] = a.a + b.a
    return out


def first(a):
    view = type(a)(0)
    view.a = a.a[:1]
    return view


def with_options(a, *, mode, device, state):
    return a


@pytest.fixture(params=["raw", "wrapped"])
def tensor(request, toy, tensors):
    """Make raw arrays, or the same in a frontend's tensors."""
    return toy.array if request.param == "raw" else lambda value: tensors.wrap(toy.array(value))


def data(value):
    if isinstance(value, list | tuple):
        return type(value)(map(data, value))
    found = getattr(value, "_dispatch_data", value)
    return found.a.tolist() if hasattr(found, "a") else found


def lines(t):
    return [line.strip() for line in str(t).splitlines()]


def run_code(t, registry, *inputs):
    """Run the code that the trace writes."""
    names = {}
    exec(t.code, names)
    constants = {"constants": t.graph.constants} if t.graph.constants else {}
    return names["run"](*inputs, ops=registry.ops, **constants)


def test_calls_become_lines_and_run_again(registry, ops, tensor):
    x, y = tensor([1, 2]), tensor([3, 4])
    with dc.trace(registry=registry) as t:
        z = ops.add(x, y, alpha=2)
        ops.add(z, x)
    assert str(t) == str(t.graph)
    assert lines(t) == [
        "graph(%0, %1):",
        "%2 = t::add(%0, %1, alpha=2)",
        "%3 = t::add(%2, %0, alpha=1)",
        "return %3",
    ]
    for replay in (t.replay, t):
        again = replay(tensor([10, 20]), tensor([1, 1]))
        assert type(again) is type(z)
        assert data(again) == [22, 42]
    assert data(z) == [7, 10]


def test_the_code_is_python(registry, ops, tensor):
    with dc.trace(registry=registry) as t:
        ops.add(tensor([1]), tensor([2]), alpha=2.5)
    assert t.code == "def run(v0, v1, *, ops):\n    v2 = ops.t.add.default(v0, v1, alpha=2.5)\n    return v2\n"
    assert data(run_code(t, registry, tensor([1]), tensor([4]))) == [11]


def test_the_process_registry_is_imported_by_the_code():
    with dc.Library("traced_here", "DEF") as library:
        library.define("f(int x, *, float y) -> float")
        library.impl("f", lambda x, *, y: x * y)
        with dc.trace() as t:
            dc.ops.traced_here.f(2, y=float("-inf"))
        assert t.code.splitlines() == [
            "from dispatch_core import ops",
            "",
            "",
            "def run():",
            "    v0 = ops.traced_here.f.default(2, y=float('-inf'))",
            "    return v0",
        ]
        names = {}
        exec(t.code, names)
        assert names["run"]() == t.replay() == float("-inf")


def test_lists_optional_tensors_and_several_results(registry, ops, tensor):
    with dc.trace(registry=registry) as t:
        parts = ops.split(tensor([3, 1]))
        joined = ops.cat([parts[1], parts[0]])
        low, high = ops.minmax(joined)
        ops.pick([None, high], low)
        ops.pick([None], low)
    assert lines(t) == [
        "graph(%0):",
        "[%1, %2] = t::split(%0)",
        "%3 = t::cat([%2, %1])",
        "%4, %5 = t::minmax(%3)",
        "%6 = t::pick([None, %5], %4)",
        "%7 = t::pick([None], %4)",
        "return %7",
    ]
    assert data(t.replay(tensor([8, 9]))) == data(run_code(t, registry, tensor([8, 9]))) == 8


def test_several_results_are_returned_as_the_operator_does(registry, ops, tensor):
    with dc.trace(registry=registry) as t:
        ops.minmax(tensor([1, 2]))
    assert lines(t)[-1] == "return %1, %2"
    assert data(t.replay(tensor([5, 3]))) == (3, 5)
    assert data(run_code(t, registry, tensor([5, 3]))) == (3, 5)
    with dc.trace(registry=registry) as t:
        ops.split(tensor([1]))
    assert data(t.replay(tensor([5]))) == data(run_code(t, registry, tensor([5]))) == [5]


def test_writes_keep_the_value(registry, ops, tensor):
    x, out = tensor([1, 2]), tensor([0, 0])
    with dc.trace(registry=registry) as t:
        assert ops.add_(x, x) is x
        assert ops.add(x, x, out=out) is out
        ops.zero_all_([x])
        ops.add(out, x)
    assert lines(t) == [
        "graph(%0, %1):",
        "t::add_(%0, %0)",
        "t::add.out(%0, %0, out=%1)",
        "t::zero_all_([%0])",
        "%2 = t::add(%1, %0, alpha=1)",
        "return %2",
    ]
    mine, other = tensor([5, 6]), tensor([0, 0])
    assert data(t.replay(mine, other)) == [20, 24]
    assert (data(mine), data(other)) == ([0, 0], [20, 24])
    assert data(run_code(t, registry, tensor([5, 6]), tensor([0, 0]))) == [20, 24]


def test_views_are_written_through_again(registry, ops, tensor):
    x, y = tensor([1, 2]), tensor([10])
    with dc.trace(registry=registry) as t:
        ops.add_(ops.first(x), y)
        ops.add(x, x)
    assert lines(t)[1:3] == ["%1 = t::first(%0)", "t::add_(%1, %2)"]
    assert data(t.replay(tensor([5, 6]), tensor([1]))) == [12, 12]


def test_an_argument_that_comes_back_unasked_is_a_new_value(registry, ops, tensor):
    """Like ``contiguous``: whether the result is the argument depends on the argument."""
    x = tensor([1])
    with dc.trace(registry=registry) as t:
        assert ops.same(x) is x
        ops.add(x, x)
    assert lines(t)[1:3] == ["%1 = t::same(%0)", "%2 = t::add(%1, %1, alpha=1)"]


def test_immutable_arrays_are_followed_when_a_tensor_is_bound_to_another(registry, library, make_backend, tensors):
    frozen = make_backend("frozen", mutable=False)
    library.define("neg(Tensor self) -> Tensor")
    library.define("neg_(Tensor(a!) self) -> Tensor(a!)")
    library.impl("neg", lambda x: frozen.array(-x.a), frozen.key)
    x = tensors.wrap(frozen.array([1]))
    with dc.trace(registry=registry) as t:
        registry.ops.t.neg_(x)
        registry.ops.t.neg(tensors.wrap(x._dispatch_data))
    assert lines(t)[1:3] == ["t::neg_(%0)", "%1 = t::neg(%0)"]
    assert data(t.replay(tensors.wrap(frozen.array([7])))) == [7]


def test_composites_are_one_operator(registry, ops, tensor):
    with dc.trace(registry=registry) as t:
        ops.twice(ops.twice(tensor([1])))
    assert lines(t) == ["graph(%0):", "%1 = t::twice(%0)", "%2 = t::twice(%1)", "return %2"]
    assert data(t.replay(tensor([3]))) == [12]


def test_composites_can_be_taken_apart(registry, library, ops, tensor):
    library.define("four(Tensor x, *, int n=1) -> Tensor")
    library.impl("four", lambda x, *, n: ops.twice(ops.twice(x)))
    with dc.trace(registry=registry) as whole, dc.trace(decompose=True, registry=registry) as apart:
        ops.four(tensor([1]), n=2)
    assert lines(whole) == ["graph(%0):", "%1 = t::four(%0, n=2)", "return %1"]
    assert lines(apart) == [
        "graph(%0):",
        "%1 = t::add(%0, %0, alpha=1)",
        "%2 = t::add(%1, %1, alpha=1)",
        "return %2",
    ]
    assert data(whole.replay(tensor([3]))) == data(apart.replay(tensor([3]))) == [12]


def test_a_composite_that_is_taken_apart_runs_below_what_was_masked_off(registry, library, toy, tensors, ops):
    """As it does without a tracer."""
    seen = []

    def layer(name):
        def kernel(keyset, x):
            seen.append(name)
            return registry.redispatch(f"t::{name}", keyset - "AutocastCPU", x)

        return kernel

    library.define("leaf(Tensor x) -> Tensor")
    library.impl("leaf", lambda x: x, toy.key)
    library.define("outer(Tensor x) -> Tensor")
    library.impl("outer", ops.leaf)
    for name in ("leaf", "outer"):
        library.impl(name, layer(name), "AutocastCPU", with_keyset=True)
    x = tensors.wrap(toy.array([1]))
    x._dispatch_mask |= DispatchKey.AutocastCPU
    ops.outer(x)
    assert seen == ["outer"]
    with dc.trace(decompose=True, registry=registry) as t:
        ops.outer(x)
    assert seen == ["outer"] * 2
    assert lines(t)[1:-1] == ["%1 = t::leaf(%0)"]


def test_what_a_layer_calls_is_not_recorded(registry, library, ops, tensor):
    def layer(keyset, x):
        ops.add(x, x)
        return registry.redispatch("t::twice", keyset - "Functionalize", x)

    library.impl("twice", layer, "Functionalize", with_keyset=True)
    with dc.trace(registry=registry) as t, dc.include_keys("Functionalize"):
        ops.twice(tensor([1]))
    assert lines(t)[1:-1] == ["%1 = t::twice(%0)"]
    with dc.include_keys("Functionalize"):
        assert data(t.replay(tensor([2]))) == [4]


def test_factories_are_recorded_and_wrapped_again(registry, ops, toy, tensors):
    with dc.trace(registry=registry) as t:
        made = tensors.wrap(ops.full(2, device="toy:1"))
        ops.add(made, tensors.wrap(toy.array([1])))
    assert lines(t) == [
        "graph(%2):",
        "%0 = t::full(2, device='toy:1')",
        "%1 = wrap(%0, constants[0])",
        "%3 = t::add(%1, %2, alpha=1)",
        "return %3",
    ]
    assert t.graph.constants == (tensors,)
    x = tensors.wrap(toy.array([5]))
    for again in (t.replay(x), run_code(t, registry, x)):
        assert isinstance(again, tensors.tensor_type)
        assert data(again) == [7]
    assert "from dispatch_core import Device\n" in t.code
    assert "ops.t.full.default(2, device=Device('toy', 1))" in t.code


def test_an_array_that_is_taken_out_of_its_tensor_is_followed(registry, ops, toy, tensors):
    with dc.trace(registry=registry) as t:
        ops.add(ops.twice(tensors.wrap(toy.array([1])))._dispatch_data, toy.array([1]))
    assert lines(t)[1:4] == ["%1 = t::twice(%0)", "%2 = unwrap(%1)", "%4 = t::add(%2, %3, alpha=1)"]
    inputs = tensors.wrap(toy.array([4])), toy.array([1])
    assert data(t.replay(*inputs)) == data(run_code(t, registry, *inputs)) == [9]


def test_another_tensor_around_the_same_array_is_the_same_value(registry, ops, toy, tensors):
    with dc.trace(registry=registry) as t:
        x = ops.twice(tensors.wrap(toy.array([1])))
        ops.twice(tensors.wrap(x._dispatch_data))
    assert lines(t)[1:3] == ["%1 = t::twice(%0)", "%2 = t::twice(%1)"]


def test_arguments_without_a_spelling_are_constants(registry, ops, tensor):
    state = Opaque()
    with dc.trace(registry=registry) as t:
        x = ops.with_options(tensor([1]), mode=Mode.FAST, state=state)
        ops.with_options(x, mode=(float("nan"), 1 + 2j, "it's", None), state=[state, (2,)])
    assert t.graph.constants == (state,)
    assert lines(t)[1:3] == [
        f"%1 = t::with_options(%0, mode={Mode.FAST!r}, device=None, state=constants[0])",
        '%2 = t::with_options(%1, mode=(nan, (1+2j), "it\'s", None), device=None, state=[constants[0], (2,)])',
    ]
    assert f"mode={Mode.__module__}.Mode.FAST" in t.code
    assert f"import {Mode.__module__}\n" in t.code
    assert "mode=(float('nan'), complex(1.0, 2.0), \"it's\", None)" in t.code
    assert data(t.replay(tensor([1]))) == [1]


def test_an_array_where_the_schema_says_any_is_a_constant_of_its_own(registry, ops, toy):
    """A later write to a factory's result must not reach the next replay."""
    with dc.trace(registry=registry) as t:
        made = ops.put(toy.array([1]), device="toy")
        ops.add_(made, made)
        ops.put(made, device="toy")
    assert lines(t) == [
        "graph():",
        "%0 = t::put(constants[0], device='toy')",
        "t::add_(%0, %0)",
        "%1 = t::put(%0, device='toy')",
        "return %1",
    ]
    for _ in range(2):
        assert data(t.replay()) == data(run_code(t, registry)) == [2]
    assert data(t.graph.constants[0]) == [1]


def test_numbers_that_an_operator_returned_are_constants(registry, ops, tensor):
    with dc.trace(registry=registry) as t:
        x = tensor([2])
        ops.add(x, x, alpha=ops.item(x))
        ops.sizes(x)
        ops.maybe(x, False)
    assert lines(t)[1:-1] == [
        "%1 = t::item(%0)",
        "%2 = t::add(%0, %0, alpha=2.0)",
        "%3 = t::sizes(%0)",
        "%4 = t::maybe(%0, False)",
    ]
    assert t.replay(tensor([1])) is None


def test_what_is_returned_can_be_chosen(registry, ops, tensor):
    x = tensor([1])
    with dc.trace(registry=registry) as t:
        y = ops.twice(x)
        ops.twice(y)
        t.returns(y)
    assert lines(t)[-1] == "return %1"
    assert data(t.replay(tensor([5]))) == [10]
    with dc.trace(registry=registry) as t:
        t.returns(ops.twice(x), x)
    assert data(t.replay(tensor([5]))) == data(run_code(t, registry, tensor([5]))) == ([10], [5])
    with dc.trace(registry=registry) as t:
        ops.twice(x)
        with pytest.raises(
            dc.ArgumentError, match=r"trace\.returns: argument 1 is no value of the graph: .*\nHint: give"
        ):
            t.returns(x, tensor([9]))
    with pytest.raises(dc.DispatchError, match=r"trace\.returns: the block has ended"):
        t.returns(x)


def test_a_call_that_fails_leaves_no_trace(registry, library, ops, tensor, toy):
    library.define("fails(Tensor x) -> Tensor")
    library.impl("fails", lambda x: 1 / 0, toy.key)
    with dc.trace(registry=registry) as t:
        with pytest.raises(ZeroDivisionError):
            ops.fails(tensor([1]))
        ops.twice(tensor([1]))
    assert lines(t) == ["graph(%0):", "%1 = t::twice(%0)", "return %1"]
    assert dc.keys.context.current() is None


def test_an_empty_block_is_an_empty_graph(registry):
    with dc.trace(registry=registry) as t:
        pass
    assert str(t) == "graph():\n    return"
    assert t.replay() is None
    assert t.code == "def run(*, ops):\n    return\n"
    assert repr(t) == "<trace: 0 steps, 0 inputs>"


def test_a_replay_checks_its_inputs(registry, ops, tensor):
    with dc.trace(registry=registry) as t:
        ops.add(tensor([1]), tensor([2]))
        with pytest.raises(dc.DispatchError, match=r"trace\.replay: the block is still recording"):
            t.replay(tensor([1]), tensor([2]))
    with pytest.raises(
        dc.ArgumentError, match=r"replay: the graph takes 2 inputs \(%0, %1\), but got 1\nHint: inputs come in"
    ):
        t.replay(tensor([1]))
    with pytest.raises(dc.ArgumentError, match="replay: input %1 must be a tensor, not int"):
        t.replay(tensor([1]), 2)


def test_a_replay_that_gives_another_number_of_tensors_says_where(registry, ops, tensor):
    with dc.trace(registry=registry) as t:
        ops.cat(ops.split(tensor([1, 2])))
    with pytest.raises(dc.KernelResultError) as caught:
        t.replay(tensor([1, 2, 3]))
    assert str(caught.value) == (
        "replay: step 0, [%1, %2] = t::split(%0), gave 3 results where 2 were recorded\n"
        "Hint: record the graph again with inputs like these"
    )


def test_operators_without_schema_are_recorded(registry, toy, tensor):
    def bare(xs, *, y):
        return [xs[0], {"kept": 1}]

    registry.register_kernel("t::bare", "CompositeImplicitAutograd", bare)
    with dc.trace(registry=registry) as t:
        x = tensor([1])
        registry.ops.t.bare([x, 2], y=tensor([2]))
    assert lines(t) == ["graph(%0, %1):", "[%0, %2] = t::bare([%0, 2], y=%1)", "return [%0, %2]"]
    mine = tensor([4])
    assert t.replay(mine, tensor([5])) == [mine, {"kept": 1}]


def test_names_that_python_reserves_are_spelled_around(registry, library):
    library.define("__and__(int x) -> int")
    library.define("yield.from(int x, *, int lambda) -> int")
    library.impl("__and__", lambda x: x + 1)
    library.impl("yield.from", lambda x, **kwargs: x + kwargs["lambda"])
    with dc.trace(registry=registry) as t:
        registry.dispatch("t::__and__", 1)
        registry.dispatch("t::yield.from", 1, **{"lambda": 2})
    assert "v0 = ops.packet('t::__and__').default(1)" in t.code
    assert "v1 = getattr(ops.packet('t::yield'), 'from')(1, **{'lambda': 2})" in t.code
    assert run_code(t, registry) == t.replay() == 3


def test_blocks_nest_and_the_outer_one_records_everything(registry, ops, tensor):
    with dc.trace(registry=registry) as outer:
        x = ops.twice(tensor([1]))
        with dc.trace(registry=registry) as inner:
            y = ops.twice(x)
        ops.twice(y)
    assert lines(inner)[1:-1] == ["%1 = t::twice(%0)"]
    assert lines(outer)[1:-1] == ["%1 = t::twice(%0)", "%2 = t::twice(%1)", "%3 = t::twice(%2)"]


def test_a_replay_can_be_recorded(registry, ops, tensor):
    with dc.trace(registry=registry) as first:
        ops.twice(ops.twice(tensor([1])))
    with dc.trace(registry=registry) as second:
        first.replay(tensor([1]))
    assert str(second) == str(first)


def test_a_block_runs_once(registry):
    t = dc.trace(registry=registry)
    with t, pytest.raises(dc.DispatchError, match="trace: the block has run already"), t:
        pass
    with pytest.raises(dc.DispatchError, match="trace: the block has run already"), t:
        pass


def test_registries_do_not_see_each_other(registry, ops, tensor):
    other = dc.Registry()
    other.register_kernel("t::f", "CompositeImplicitAutograd", lambda: 1)
    with dc.trace(registry=other):
        pass
    with dc.trace(registry=registry) as t:
        other.ops.t.f()
        ops.twice(tensor([1]))
    assert lines(t)[1:-1] == ["%1 = t::twice(%0)"]


def test_other_threads_and_tasks_are_not_recorded(registry, ops, tensor):
    """Only threads that start with a copy of the block's context are, while the block runs."""
    before = contextvars.copy_context()
    with dc.trace(registry=registry) as t:
        thread = threading.Thread(target=ops.twice, args=(tensor([1]),))
        thread.start()
        thread.join()
        before.run(ops.twice, tensor([1]))
        inside = contextvars.copy_context()
    inside.run(ops.twice, tensor([1]))
    assert lines(t) == ["graph():", "return"]

    async def record(value):
        with dc.trace(registry=registry) as mine:
            x = ops.twice(tensor([value]))
            await asyncio.sleep(0)
            for _ in range(value):
                x = ops.twice(x)
                await asyncio.sleep(0)
        return mine

    async def both():
        return await asyncio.gather(record(1), record(3))

    first, second = asyncio.run(both())
    assert (len(first.graph.steps), len(second.graph.steps)) == (2, 4)


def test_profiler_and_tracer_work_together(registry, ops, tensor):
    with dc.profile(registry=registry) as p, dc.trace(registry=registry) as t:
        ops.twice(tensor([1]))
    assert [event.name for event in p.events] == ["t::twice", "t::add"]
    assert all(DispatchKey.Profiler not in event.keys for event in p.events)
    assert lines(t)[1:-1] == ["%1 = t::twice(%0)"]


def test_the_graph_is_data(registry, ops, tensor):
    with dc.trace(registry=registry) as t:
        ops.add(tensor([1]), tensor([2]))
    graph = t.graph
    assert isinstance(graph, Graph)
    (call,) = graph.steps
    one, two, total = graph.values
    assert (graph.inputs, call.op.name, call.split(), call.results) == (
        (one, two),
        "t::add",
        ([one, two], {"alpha": 1}),
        total,
    )
    assert isinstance(call, Node)
    assert (call.inputs(), call.outputs, total.place) == ([one, two], (total,), 2)
    assert str(Constant(3)) == "constants[3]"


def test_a_closed_library_ends_the_replay(registry, library, ops, tensor):
    with dc.trace(registry=registry) as t:
        ops.twice(tensor([1]))
    library.close()
    with pytest.raises(dc.ClosedOperatorError):
        t.replay(tensor([1]))


def test_a_tensor_that_a_frontend_makes_of_an_array_is_drawn_in_the_arrays_memory(registry, ops, toy, tensors):
    with dc.trace(registry=registry) as t:
        array = ops.full(3, device="toy")
        ops.add(tensors.wrap(array), tensors.wrap(toy.array([1])))
    picture = t.picture()
    assert [step.name for step in picture.steps] == ["t::full", "wrap", "t::add"]
    assert [value.place for value in picture.values[:2]] == [0, 0]
    assert next((e.source, e.target, e.kind) for e in picture.edges()) == (0, 1, "view")


def test_a_step_without_a_schema_is_drawn(registry, toy):
    registry.register_kernel("t::plain", toy.key, lambda x: x)
    with dc.trace(registry=registry) as t:
        registry.ops.t.plain(toy.array([1, 2]))
    picture = t.picture()
    assert [(step.inputs(), step.written, step.views) for step in picture.steps] == [([picture.values[0]], (), ())]


def test_what_cannot_be_described_is_drawn_by_its_type(registry, make_backend):
    def fail(array):
        raise RuntimeError("no shape")

    odd = make_backend("odd", shape=fail)
    library = dc.Library("t", "DEF", registry=registry)
    library.impl(library.define("f(Tensor x) -> Tensor"), lambda x: x, odd.key)
    with dc.trace(registry=registry) as t:
        registry.ops.t.f(odd.array([1]))
    assert [value.type for value in t.picture().values] == ["OddArray", "OddArray"]
