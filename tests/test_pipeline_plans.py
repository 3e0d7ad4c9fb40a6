"""The plans of a pipeline: made by a device's plugin, kept by structure."""

from __future__ import annotations

import contextlib
import gc
import io
import random
import sys
from functools import partial

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_core import caches
from dispatch_core.discovery import loader
from dispatch_core.planning import filled
from dispatch_pipelines.program import plan as plans

aten = dc.ops.aten


@pytest.fixture(autouse=True)
def _fresh_plans():
    plans.clear()
    yield
    plans.clear()


@pytest.fixture
def planner(monkeypatch):
    """Plan for the cpu in a test; yield the planned programs."""
    programs = []

    def use(plan):
        def planned(name, program):
            programs.append(program)
            return plan(program)

        monkeypatch.setattr(loader(), "plan", planned)
        return programs

    return use


def record(*arrays, program):
    with dc.pipeline() as pipe:
        found = program(*arrays)
    return np.asarray(found), pipe.stats()


def squares(a, b):
    total = aten.add.Tensor(a, b, alpha=2)
    return aten.sum(aten.mul.Tensor(total, total))


def test_a_program_describes_the_recorded_calls(planner):
    programs = planner(lambda program: None)
    a = np.ones((2, 3), np.float32)
    found, _ = record(a, a, program=squares)
    assert found == 54
    (program,) = programs
    add, mul, fold = program.nodes
    assert [node.name for node in program.nodes] == ["aten::add.Tensor", "aten::mul.Tensor", "aten::sum"]
    assert add.arguments[0] is add.arguments[1]
    assert add.split() == ([add.arguments[0], add.arguments[1]], {"alpha": 2})
    assert mul.inputs() == [add.outputs[0]] * 2
    assert (add.arguments[0].given, add.outputs[0].given, add.outputs[0].kept, fold.outputs[0].kept) == (
        True,
        False,
        False,
        True,
    )
    assert (mul.outputs[0].shape, mul.outputs[0].strides) == ((2, 3), (3, 1))
    assert "pointwise" in mul.tags
    assert program.fuse


def test_calls_above_and_below_autograd_are_one_program(planner):
    programs = planner(lambda program: None)
    x = torchlike.ones(3)
    for _ in range(4):
        with dc.pipeline() as pipe:
            y = x * 2
            with dc.exclude_keys("AutogradCPU"):
                z = y + 1
            found = z * 3
    assert found.tolist() == [9, 9, 9]
    assert [len(program.nodes) for program in programs] == [3]
    assert pipe.stats().cache_hits == 1


def test_nodes_that_are_not_planned_run_their_kernels(planner):
    def both(values, program):
        first, second, _ = program.nodes
        a, b = (values[value.index] for value in first.inputs())
        values[second.outputs[0].index] = (a + 2 * b) ** 2

    programs = planner(lambda program: [dc.PlannedStep((0, 1), lambda values: both(values, program), saved=24)])
    a = np.ones((2, 3), np.float32)
    for hits in (0, 1, 2):
        found, stats = record(a, a, program=squares)
        assert found == 54
        assert (stats.fused, stats.bytes_saved, stats.cache_hits) == (2, 24, min(hits, 1))
        assert stats.cache_hits + stats.cache_misses == 1
    assert len(programs) == 1


def test_the_parts_of_a_structure(planner):
    programs = planner(lambda program: None)
    a, b = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)

    def scaled(x, y, alpha=2):
        return aten.neg(aten.add.Tensor(x, y, alpha=alpha))

    def both_kept(x, y):
        total = aten.add.Tensor(x, y, alpha=2)
        both_kept.held = total
        return aten.neg(total)

    def in_place(x, y):
        # A write to a raw array would not wait.
        aten.neg_(x)
        return aten.add.Tensor(x, y, alpha=2)

    s, t = torchlike.ones(2, 3), torchlike.ones(2, 3)

    different = [
        (a, b, scaled),
        (a, a, scaled),
        (a, b.astype(np.float64), scaled),
        (a, np.asfortranarray(b), scaled),
        (a, b[:1], scaled),
        (a, b, lambda x, y: scaled(x, y, 3)),
        (a, b, lambda x, y: scaled(x, y, 2.0)),
        (a, b, both_kept),
        (s, t, in_place),
        (s, s[:], in_place),
        (a, a[:], scaled),
    ]
    for number, (x, y, program) in enumerate(different[:-1], 1):
        record(x, y, program=program)
        assert len(programs) == number
    # Shared memory matters where something is written to.
    record(*different[-1][:2], program=scaled)
    assert len(programs) == len(different) - 1
    for x, y, program in different:
        assert record(x, y, program=program)[1].cache_hits == 1


@pytest.mark.parametrize(
    "nodes",
    [[(0, 2), (2,)], [()], [(1, 0)], [(0, 2)], [(7,)]],
    ids=["twice", "none", "descending", "too late", "unknown"],
)
def test_a_plan_that_makes_no_sense_is_not_followed(planner, nodes):
    planner(lambda program: [dc.PlannedStep(each, lambda values: None) for each in nodes])
    a = np.ones((2, 3), np.float32)
    with pytest.warns(RuntimeWarning, match="The plugin for device 'cpu' cannot plan a pipeline"):
        found, stats = record(a, a, program=squares)
    assert found == 54
    assert stats.fused == 0


def test_a_planner_that_fails_costs_no_result(planner):
    planner(lambda program: 1 / 0)
    a = np.ones((2, 3), np.float32)
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"):
        found, _ = record(a, a, program=squares)
    assert found == 54


def test_the_operator_that_fails_in_a_planned_step_is_named(planner):
    def fails(values):
        raise MemoryError("no room for tiles")

    planner(lambda program: [dc.PlannedStep((0, 1, 2), fails)])
    a = np.arange(3)
    with pytest.raises(RuntimeError, match=r"aten::floor_divide.*ZeroDivisionError") as caught, dc.pipeline() as pipe:
        first = aten.neg(a)
        failed = aten.floor_divide(a, first)
        last = aten.neg(failed)
        other = aten.add.Tensor(first, first)
    assert first.result().tolist() == [0, -1, -2]
    assert other.result().tolist() == [0, -2, -4]
    assert pipe.stats().executed == 4
    for value in (failed, last):
        with pytest.raises(RuntimeError, match="floor_divide") as again:
            value.result()
        assert again.value is caught.value


def test_a_planned_step_that_fails_for_itself_loses_nothing(planner):
    def fails(values):
        raise MemoryError("no room for tiles")

    planner(lambda program: [dc.PlannedStep((0, 1), fails)])
    a = np.ones((2, 3), np.float32)
    with pytest.warns(RuntimeWarning, match="A planned step raised MemoryError: no room for tiles") as caught:
        assert record(a, a, program=squares)[0] == 54
    text = str(caught[0].message)
    assert "Step planned by the plugin of dispatch-backend-cpu " in text
    assert f".<locals>.fails ({__file__}:" in text
    assert record(a, a, program=squares)[0] == 54  # said once for a plan


@pytest.mark.parametrize("nodes", [(0, 1), (1, 2)], ids=["read by another node", "kept"])
def test_a_planned_step_that_stores_nothing_is_named(planner, nodes):
    planner(lambda program: [dc.PlannedStep(nodes, lambda values: None)])
    a = np.ones((2, 3), np.float32)
    with pytest.raises(dc.KernelResultError) as caught:
        record(a, a, program=squares)
    text = str(caught.value)
    assert "its planned step has run and stored nothing for the result" in text
    assert f".<locals>.<lambda> ({__file__}:" in text
    assert "Hint: set values[output.index]" in text


@pytest.mark.parametrize("nodes", [(0, 1), (1, 2)], ids=["read by another node", "kept"])
def test_a_planned_step_of_a_replay_that_stores_nothing_is_named(planner, nodes):
    planner(lambda program: [dc.PlannedStep(nodes, lambda values: None)] if program.nodes[0].fault else None)
    a = torchlike.ones(2, 3)
    captured = dc.capture(lambda x: ((x + 2) * x).sum())
    for _ in range(2):
        captured(a)
    with pytest.raises(dc.KernelResultError) as caught:
        captured(a)
    assert "its planned step has run and stored nothing for the result" in str(caught.value)
    assert f".<locals>.<lambda> ({__file__}:" in str(caught.value)


#: Calls whose values stand before, between and behind other arguments and in lists, of one result, several, a list and none.
CALLS = {
    "mul": lambda x, y: x * y,
    "add": lambda x, y: torchlike.add(x, y, alpha=3),
    "number": lambda x, y: x - 1.5,
    "exp": lambda x, y: (x / 4).exp(),
    "clamp": lambda x, y: torchlike.clamp(x, None, y.amax()),
    "clamp between": lambda x, y: x.clamp(-1.5, 2.5),
    "where": lambda x, y: torchlike.where(x > y, x, 0.25),
    "addmm": lambda x, y: torchlike.addmm(x, y, x.t(), beta=2, alpha=0.5),
    "cat": lambda x, y: torchlike.cat([x, y, x], 1)[:, 1:5],
    "stack": lambda x, y: torchlike.stack((x, y), -1).sum([-1]),
    "split": lambda x, y: torchlike.split(x, [1, 3])[1].sum(0, keepdim=True) + y,
    "max": lambda x, y: x.max(1, keepdim=True).values + y,
    "sort": lambda x, y: x.sort(descending=True)[0],
    "softmax": lambda x, y: torchlike.softmax(x, 1),
    "view": lambda x, y: x.t(),
    "write": lambda x, y: x.clone().add_(y, alpha=2),
    "fill": lambda x, y: torchlike.empty_like(x).fill_(0.5).mul_(y),
}
#: How a planner may run a node.
WAYS = {
    "run": lambda node, values: node.run(values),
    "runner": lambda node, values: node.runner()(values),
    "call": lambda node, values: node.store(values, node.call(*[filled(each, values) for each in node.arguments])),
}


@pytest.mark.parametrize("seed", range(30))
def test_planners_run_nodes_as_plans_do(planner, seed):
    drawn = random.Random(seed)
    x, y = (torchlike.tensor([[drawn.uniform(-3, 3) for _ in range(4)] for _ in range(4)]) for _ in range(2))
    names = drawn.sample(sorted(CALLS), 6)
    planner(lambda program: None)
    expected = _run_calls(names, x, y)
    for way in WAYS.values():
        planner(
            lambda program, way=way: [dc.PlannedStep((n,), partial(way, node)) for n, node in enumerate(program.nodes)]
        )
        plans.clear()
        with dc.pipeline() as pipe:
            found = _run_calls(names, x, y)
        assert pipe.stats().cache_misses and found.numpy().tobytes() == expected.numpy().tobytes(), names


def _run_calls(names, x, y):
    for name in names:
        x, y = CALLS[name](x, y), x
    return x


@pytest.mark.parametrize("seed", range(10))
def test_steps_that_run_alone_do_what_plans_do(planner, seed):
    drawn = random.Random(seed)
    x, y = (torchlike.tensor([[drawn.uniform(-3, 3) for _ in range(4)] for _ in range(4)]) for _ in range(2))
    names = drawn.choices(sorted(CALLS), k=8)
    with dc.pipeline():
        expected = _run_calls(names, x, y).numpy().tobytes()
    # With this option no step runs by a plan.
    with dc.pipeline(trace=True), contextlib.redirect_stderr(io.StringIO()):
        assert _run_calls(names, x, y).numpy().tobytes() == expected, names


@pytest.mark.parametrize("seed", range(10))
def test_graphs_run_node_by_node_as_a_whole(seed):
    drawn = random.Random(seed)
    x, y, z, w = (torchlike.tensor([[drawn.uniform(-3, 3) for _ in range(4)] for _ in range(4)]) for _ in range(4))
    names = drawn.choices(sorted(CALLS), k=6)
    with dc.trace() as trace:
        trace.returns(_run_calls(names, x, y))
    inputs = [z, w][: len(trace.graph.inputs)]
    values = [None] * len(trace.graph.values)
    for value, given in zip(trace.graph.inputs, inputs, strict=True):
        values[value.index] = given
    for step in trace.graph.steps:
        step.run(values)
    found = values[trace.graph.outputs.index]
    assert found.numpy().tobytes() == trace.replay(*inputs).numpy().tobytes(), names


def test_a_planned_step_that_makes_something_else_is_named(planner):
    """It has run, and may have written to memory, so its nodes do not run again; nor is the plan trusted the next time."""
    ran = []

    def flat(values, program):
        first, second, _ = program.nodes
        ran.append(True)
        a, b = (values[value.index] for value in first.inputs())
        values[second.outputs[0].index] = ((a + 2 * b) ** 2).ravel()

    programs = planner(lambda program: [dc.PlannedStep((0, 1), lambda values: flat(values, programs[0]))])
    a = np.ones((2, 3), np.float32)
    for runs in (1, 2):
        with pytest.raises(dc.KernelResultError) as caught:
            record(a, a, program=squares)
        text = str(caught.value)
        assert "aten::mul.Tensor: the result has shape (6,), where the shape rule" in text
        assert "Step planned by the plugin of dispatch-backend-cpu " in text
        assert "for device 'cpu': " in text and f".<locals>.<lambda> ({__file__}:" in text
        assert "which runs aten::add.Tensor, aten::mul.Tensor\nHint: " in text
        assert len(ran) == runs
    with dc.pipeline():
        fine = aten.neg(a)
    assert fine.result().tolist() == (-a).tolist()


def test_intermediate_results_are_let_go_of_after_their_last_use():
    import tracemalloc

    a = np.ones(1_000_000, np.float32)

    def long(x):
        for _ in range(10):
            x = aten.cumsum(x, 0)
        return x

    record(a, program=long)
    tracemalloc.start()
    record(a, program=long)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Eleven arrays, were they all kept.
    assert peak < 6 * a.nbytes


def test_a_change_of_kernels_makes_a_new_plan():
    a = np.ones(3, np.float32)

    def program(x):
        return aten.neg(aten.exp(x))

    record(a, program=program)
    with dc.Library("aten", "IMPL", "CPU") as library:
        library.impl("neg", lambda self: self + 1, allow_override=True)
        found, stats = record(a, program=program)
        assert stats.cache_misses == 1
        assert found.tolist() == (np.exp(a) + 1).tolist()
    found, stats = record(a, program=program)
    assert found.tolist() == (-np.exp(a)).tolist()


@pytest.mark.parametrize("step", [2, 4, 8])
def test_a_plan_writes_memory_with_gaps(step):
    def program():
        x = torchlike.arange(8 * step, dtype=torchlike.float32)
        x[::step].sqrt_().neg_()
        return x

    with torchlike.pipeline():
        found = program()
    expected = np.arange(8 * step, dtype=np.float32)
    expected[::step] = -np.sqrt(expected[::step].copy())
    assert found.tolist() == program().tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["Program", "Node", "Value", "PlannedStep"])
def test_the_vendors_page_lists_every_field(kind, root):
    import dataclasses

    from dispatch_core import planning

    table = (root / "docs" / "vendors.md").read_text().partition(f"| `{kind}` | |\n")[2].partition("\n\n")[0]
    for field in dataclasses.fields(getattr(planning, kind)):
        assert f"`{field.name}" in table


def test_arrays_without_dimensions_are_computed_again_and_given_to_one():
    x, other = torchlike.tensor(-2.0), torchlike.tensor(3.0)
    found = []
    for _ in range(4):
        with dc.pipeline():
            product, made = (x * other).sign(), (x**2 + other) * 2
        found += [product.item(), made.item()]
        made.fill_(100)
        x.add_(1)
    assert found == [-1, 14, -1, 8, 0, 6, 1, 8]


WRITES = [
    lambda x, y: x.add_(1),
    lambda x, y: x.add_(y),
    lambda x, y: x.mul_(2),
    lambda x, y: x.sub_(y, alpha=2),
    lambda x, y: x.neg_(),
    lambda x, y: x.fill_(3),
    lambda x, y: x.masked_fill_(x != y, -1),
    lambda x, y: torchlike.mul(x, 2, out=x),
]
READS = [
    lambda x, y: x * 2,
    lambda x, y: x + x,
    lambda x, y: x - y,
    lambda x, y: -x,
    lambda x, y: x.exp(),
    lambda x, y: x.sqrt(),
    lambda x, y: torchlike.where(x != y, x, -x),
]
DTYPES = ["float32", "float64", "int64", "complex64", "complex128"]


def repeat(seed, way):
    """Return what four runs of a random chain of writes and reads store, on the same tensors."""
    choose = random.Random(seed)
    dtype = getattr(torchlike, choose.choice(DTYPES))
    tensors = [torchlike.ones(choose.choice([(), (), (1,), (3,)]), dtype=dtype) for _ in range(2)]
    steps = [(choose.choice(choose.choice([WRITES, READS])), choose.random(), choose.random()) for _ in range(8)]

    def run(*given):
        known = list(given)
        for call, first, second in steps:
            x, y = (known[int(place * len(known))] for place in (first, second))
            made = call(x, y if y.shape == x.shape and y.dtype == x.dtype else x)
            if made is not x:
                known.append(made)
        return known

    called = torchlike.capture(run) if way == "capture" else run
    found = []
    for _ in range(4):
        if way == "pipeline":
            with torchlike.pipeline():
                known = called(*tensors)
        else:
            known = called(*tensors)
        found += [(str(each.dtype), each.shape, repr(each.tolist())) for each in known]
    return found


@pytest.mark.no_pipeline(reason="captured functions run outside of pipelines")
@pytest.mark.parametrize("way", ["pipeline", "capture"])
def test_what_reads_a_written_tensor_sees_the_write_in_every_run(way):
    different = [seed for seed in range(32) if repeat(seed, way) != repeat(seed, "eager")]
    assert different == []


@pytest.mark.parametrize("number", [0.0, complex(-4, 0), complex(0, -4)])
def test_numbers_that_differ_in_the_signs_of_zeros_are_other_numbers(number):
    x, found = torchlike.ones((), dtype=torchlike.complex128), []
    given = [number, number.conjugate(), -number, -number.conjugate()]
    for value in given:
        with torchlike.pipeline():
            made = torchlike.where(x == x, value, x).neg()
        found.append(made.item())
    assert repr(found) == repr([torchlike.where(x == x, value, x).neg().item() for value in given])


def count_while_shapes_change(sizes):
    """Return how many objects there are at most while pipelines compute with shapes that were not there before."""
    most = 0
    for size in sizes:
        with torchlike.pipeline():
            x = torchlike.ones(size, 3, requires_grad=True)
            (x * 2 + x[:, :1]).relu().sum().backward()
        if size % 50 == 0:
            gc.collect()
            most = max(most, len(gc.get_objects()))
    return most


@pytest.mark.long
@pytest.mark.no_pipeline(reason="it opens its own")
def test_shapes_that_change_in_1000_rounds_take_a_bounded_number_of_objects(monkeypatch):
    count_while_shapes_change(range(1, 20))
    # All caches of shapes are full soon.
    keep = caches.keep
    for module in [each for each in sys.modules.values() if vars(each).get("keep") is keep]:
        monkeypatch.setattr(module, "keep", lambda cache, key, value, limit: keep(cache, key, value, min(limit, 32)))
    monkeypatch.setattr(plans, "KEPT", 32)
    first = count_while_shapes_change(range(20, 220))
    assert count_while_shapes_change(range(220, 1020)) < first + 800
