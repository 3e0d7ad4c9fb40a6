"""In a pipeline, writes to arrays that cannot be written to are recorded as functional steps."""

import pytest

import torchlike
from dispatch_core import pipeline
from torchlike import nn, optim

pytestmark = [pytest.mark.usefixtures("frozen_backend"), pytest.mark.no_pipeline(reason="opens its own")]

OPTIMIZERS = {
    "SGD": lambda given: optim.SGD(given, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "SGD foreach": lambda given: optim.SGD(given, lr=0.1, foreach=True),
    "Adam": lambda given: optim.Adam(given, lr=0.1, amsgrad=True),
    "Adam foreach": lambda given: optim.Adam(given, lr=0.1, foreach=True),
    "RMSprop": lambda given: optim.RMSprop(given, lr=0.1, centered=True, momentum=0.5),
}


def make_frozen(*shape):
    return torchlike.arange(float(torchlike.Size(shape).numel())).reshape(shape).to("frozen", copy=True)


def train(make, steps, in_pipelines):
    torchlike.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Dropout(0.3), nn.Linear(5, 3)).to("frozen")
    optimizer = make(net.parameters())
    losses, stats = [], []
    for _ in range(steps):
        x, target = torchlike.randn(7, 4).to("frozen"), torchlike.randint(0, 3, (7,)).to("frozen")
        with pipeline() if in_pipelines else torchlike.enable_grad() as pipe:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), target)
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
        stats.append(pipe.stats() if in_pipelines else None)
    held = [
        value.tolist() for state in optimizer.state.values() for value in state.values() if hasattr(value, "tolist")
    ]
    return [
        losses,
        held,
        [each.tolist() for each in net.parameters()],
        [each._version for each in net.parameters()],
    ], stats


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_step_is_one_program(name):
    eager, _ = train(OPTIMIZERS[name], 4, in_pipelines=False)
    found, stats = train(OPTIMIZERS[name], 4, in_pipelines=True)
    assert found == eager
    assert [dict(each.eager) for each in stats] == [{}] * 4
    assert stats[-1].cache_hits and not stats[-1].cache_misses


def test_no_step_writes_and_earlier_steps_keep_their_values():
    x = make_frozen(3)
    with pipeline() as pipe:
        before = x * 10
        same = x.add_(1)
        alias = x[1:]
        between = x * 10
        alias.mul_(x[:2])
        after = x * 10
        graph = pipe.graph()
    assert same is x
    assert "# writes" not in str(graph)
    assert [each.tolist() for each in (before, between, after, alias)] == [
        [0, 10, 20],
        [10, 20, 30],
        [10, 20, 60],
        [2, 6],
    ]
    assert x._version == alias._version == 2


def test_a_new_value_that_nothing_reads_is_not_computed():
    x, scratch = make_frozen(3), make_frozen(3)
    with pipeline() as pipe:
        y = x.detach().clone()
        scratch.exp_().add_(y)
        y.add_(1)
        del scratch
    assert y.tolist() == [1, 2, 3]
    assert (pipe.stats().recorded, pipe.stats().dropped) == (4, 2)


def test_tensors_are_bound_to_arrays_again_outside():
    x = make_frozen(2, 2)
    row = x[0]
    with pipeline():
        x.add_(1)
    x.add_(1)
    row.sub_(5)
    assert (x.tolist(), row.tolist()) == ([[-3, -2], [4, 5]], [-3, -2])
    assert not (x._pending or row._pending)


def test_out_takes_pending_values_of_its_shape_and_of_others():
    x, out, small = make_frozen(2, 3), make_frozen(2, 3), make_frozen(0)
    with pipeline() as pipe:
        assert torchlike.add(x, x, out=out) is out
        assert torchlike.mul(out, x, out=small) is small
    assert small.tolist() == (x * x * 2).tolist()
    assert small.shape == (2, 3)
    assert not pipe.stats().eager


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.add_(torchlike.ones(5).to("frozen")),
        lambda x: torchlike.ones(2, dtype=torchlike.int64).to("frozen").add_(0.5),
        lambda x: x.requires_grad_().add_(1),
        lambda x: torchlike.add(x, x, out=torchlike.ones(2, dtype=torchlike.int64).to("frozen")),
    ],
)
def test_calls_are_refused_at_their_line_as_outside(call):
    with pytest.raises(RuntimeError) as expected:
        call(make_frozen(2))
    x = make_frozen(2)
    with pipeline(), pytest.raises(RuntimeError) as found:
        call(x)
    assert str(found.value) == str(expected.value)
    assert x.tolist() == [0, 1]
    assert x._version == 0


def test_a_step_that_fails_leaves_the_error_with_the_tensor_and_its_aliases():
    x, other = make_frozen(3), make_frozen(3)
    row, wrong = x[0], torchlike.tensor([7]).to("frozen")
    with pytest.raises(IndexError), pipeline():
        x.index_add_(0, wrong, torchlike.ones(1).to("frozen"))
        other.add_(1)
        other.add_(x.detach()[:1].abs())
        kept = make_frozen(2).add_(1)
    for tensor in (x, row, other):
        with pytest.raises(IndexError, match="index_add"):
            tensor.tolist()
    assert kept.tolist() == [1, 2]
    x.data = make_frozen(3)
    assert x.add_(1).tolist() == [1, 2, 3]


def test_numbers_are_values_and_those_that_shapes_depend_on_are_not():
    x = make_frozen(3)

    def run(number, size):
        with pipeline() as pipe:
            y = x.add(number, alpha=2).mul(number + 1).pow(number)
            z = torchlike.arange(size, device="frozen") + number
        return y.tolist(), z.tolist(), pipe.stats().cache_misses

    for number in (2, 3, 0.5, 0.25):
        *found, _ = run(number, 3)
        assert found == [((x + 2 * number) * (number + 1)).pow(number).tolist(), [number + each for each in range(3)]]
    assert [run(number, 3)[2] for number in (4, 5, 0.75)] == [0, 0, 0]
    assert run(6, 4) == (run(6, 3)[0], [6, 7, 8, 9], 1)


def test_a_node_runs_as_its_call_would(monkeypatch):
    from dispatch_core.discovery import loader
    from dispatch_core.planning import PlannedStep

    programs = []

    def plan(name, program):
        programs.append(program)

        def run(values):
            for node in program.nodes:
                node.run(values)

        return [PlannedStep(tuple(range(len(program.nodes))), run)]

    def step():
        x, y = make_frozen(2, 3), make_frozen(3)
        x.add_(y, alpha=3)
        parts = torchlike.cat([x, x.exp()])
        top, places = parts.max(1)
        return [each.tolist() for each in (x.sqrt_(), parts, top.mul_(0.5), places, *x.unbind())]

    expected = step()
    monkeypatch.setattr(loader(), "plan", plan)
    with pipeline():
        assert step() == expected
    assert programs
    assert not any(node.written for program in programs for node in program.nodes)


def test_saved_tensors_that_were_changed_are_refused():
    x = make_frozen(3).requires_grad_()
    with pipeline():
        y = x * 1
        z = (y * y).sum()
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward()
