"""Programs of pipelines on jax: one compiled function for all that can be traced, with the results of eager calls."""

import random

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.discovery import loader
from torchlike import nn, optim

pytest.importorskip("jax")

OPTIMIZERS = {
    "SGD": lambda given: optim.SGD(given, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "Adam": lambda given: optim.Adam(given, lr=0.01, amsgrad=True),
    "Adam foreach": lambda given: optim.Adam(given, lr=0.01, foreach=True),
}


@pytest.fixture
def planned(monkeypatch):
    """Yield the programs for jax that are planned, each with its steps."""
    torchlike.empty(0, device="jax")
    found, plan = [], loader().plan

    def keep(name, program):
        steps = plan(name, program)
        if name == "jax":
            steps = list(steps)
            found.append((program, steps))
        return steps

    monkeypatch.setattr(loader(), "plan", keep)
    return found


@pytest.fixture
def traces(monkeypatch):
    """Yield a list that gets an entry for each function that JAX compiles."""
    from dispatch_backend_array_api import xla

    found, trace = [], xla.Compiled.trace

    def counted(self, *given):
        found.append(len(self.nodes))
        return trace(self, *given)

    monkeypatch.setattr(xla.Compiled, "trace", counted)
    return found


def put(*shape, seed=0):
    return torchlike.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32)).to("jax")


def train(make, steps, block):
    torchlike.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10)).to("jax")
    optimizer = make(net.parameters())
    losses = []
    for step in range(steps):
        x, target = put(16, 64, seed=step), torchlike.randint(0, 10, (16,)).to("jax")
        with block() as pipe:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), target)
            loss.backward()
            optimizer.param_groups[0]["lr"] *= 0.95
            optimizer.step()
        losses.append((loss.item(), pipe))
    return [loss for loss, _ in losses], [each.tolist() for each in net.parameters()], losses[-1][1]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_step_is_one_compiled_function(name, planned, traces):
    losses, parameters, _ = train(OPTIMIZERS[name], 6, torchlike.enable_grad)
    assert not planned
    found, others, pipe = train(OPTIMIZERS[name], 6, dc.pipeline)
    np.testing.assert_allclose(found, losses, rtol=1e-4)
    for mine, expected in zip(others, parameters, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-3, atol=1e-5)
    # The first step makes the optimizer's state, and finds no gradients.
    assert [[step.nodes for step in steps] for _, steps in planned] == [
        [tuple(range(len(program.nodes)))] for program, _ in planned
    ]
    assert len(planned) == len(traces) == 2
    assert not pipe.stats().eager
    assert pipe.stats().fused == len(planned[-1][0].nodes)
    assert not any(node.written for program, _ in planned for node in program.nodes)


def test_numbers_are_arguments(traces):
    x = put(3, 4)

    def program(number, factor):
        return (x * number + number).clamp(-abs(number), abs(number)).add(x, alpha=factor).pow(number)

    for number in (2.5, 0.5, 1e30, 3, -7, 2**40):
        with dc.pipeline():
            found = program(number, number / 3)
        np.testing.assert_allclose(found.tolist(), program(number, number / 3).tolist(), rtol=1e-5)
    # Floats, and ints.
    assert len(traces) == 2


@pytest.fixture
def operators():
    """Define operators that cannot be traced: one decides by a number, one by an element, one draws."""
    from dispatch_backend_array_api.devices.jax import backend

    library = dc.Library("xlatest", "DEF")
    library.define("pick(Tensor x, float by) -> Tensor")
    library.define("largest(Tensor x) -> Tensor")
    for name, kernel in {
        "pick": lambda x, by: x + 1 if by > 1 else -x,
        "largest": lambda x: x / float(backend.library.get(x).max()),
    }.items():
        library.impl(name, kernel, "Jax")
        library.impl(name, lambda x, *rest: x, "Meta")
    yield dc.ops.xlatest
    library.close()


def test_what_cannot_be_traced_falls_out(operators, planned, traces):
    x = put(5)

    def program(by):
        y = operators.pick(x.exp() * 2, by) + 1
        return [y, (operators.largest(y) * 3).sqrt().exp()]

    for by in (0.5, 2.0, 0.5, 3.0, 2.0):
        expected = program(by)
        with dc.pipeline():
            found = program(by)
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine.tolist(), other.tolist(), rtol=1e-5)
    ((nodes, steps),) = [(program.nodes, [step.nodes for step in steps]) for program, steps in planned]
    cut = [node.name for node in nodes].index("xlatest::largest")
    assert steps == [tuple(range(cut)), tuple(range(cut + 1, len(nodes)))]
    # The first part is compiled for each number that its kernel decides by.
    assert sorted(traces) == sorted([cut] * 3 + [len(nodes) - cut - 1])


def test_composites_without_numbers_are_one_node(planned):
    x, target = put(4, 5), torchlike.tensor([0, 1, 2, 1]).to("jax")

    def program():
        return [
            nn.functional.cross_entropy(x, target).exp(),
            x.softmax(1).relu().T.reshape(2, 10),
            nn.functional.leaky_relu(x, 0.25),
            *(x * 2).unbind(1)[1:3],
            (x + 1).chunk(2)[1].exp_(),
        ]

    expected = program()
    with dc.pipeline() as pipe:
        found = program()
        # Drawing a program plans it, and records nothing.
        drawn = [str(pipe.graph()) for _ in range(2)]
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.tolist(), other.tolist(), rtol=1e-5)
    names = [node.name for node in planned[-1][0].nodes]
    assert {"aten::_log_softmax", "aten::nll_loss_forward", "aten::_softmax", "aten::relu"} <= set(names)
    assert "aten::leaky_relu" not in names
    assert [text.count("group 0") for text in drawn] == [len(names)] * 2


def test_the_batches_of_an_epoch_are_one_program(traces):
    images = put(12, 4)
    with dc.pipeline() as pipe:
        order = torchlike.arange(12).flip(0).to("jax") * 1
        found = []
        for start in range(0, 12, 3):
            found.append((images[order[start : start + 3]] * 2).sum(1))
            pipe.flush()
    expected = np.split((images.flip(0) * 2).sum(1).cpu().numpy(), 4)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.tolist(), other, rtol=1e-5)
    # The first one makes the order, too.
    assert len(traces) == 2


def test_without_fusing_each_kernel_runs_on_its_own(planned):
    x = put(5)
    with dc.pipeline(fuse=False) as pipe:
        y = x.exp().add_(1) * 2
    assert [steps for _, steps in planned] == [[]]
    assert pipe.stats().fused == 0
    np.testing.assert_allclose(y.tolist(), (x.exp() * 2 + 2).tolist(), rtol=1e-6)


STEPS = [
    lambda x, y: x + y,
    lambda x, y: x * 0.5 - y,
    lambda x, y: x.tanh(),
    lambda x, y: x.softmax(1),
    lambda x, y: x @ y.T @ y,
    lambda x, y: x.add_(y, alpha=0.5),
    lambda x, y: x.mul_(0.5),
    lambda x, y: x[1:].copy_(y[:-1]) is None or x,
    lambda x, y: x.T[0].zero_() is None or x,
    lambda x, y: torchlike.add(x.detach(), y, out=y),
    lambda x, y: torchlike.cat([x[:2], y[2:]]),
    lambda x, y: torchlike.where(x > 0, x, y),
    lambda x, y: x.clone().index_put_((torchlike.tensor([0, 2]).to("jax"),), y[1]),
    lambda x, y: x - x.mean(0, keepdim=True),
    lambda x, y: x.sort(0).values,
    lambda x, y: x.cumsum(1).clamp(-2, 2),
    lambda x, y: x.view(-1)[::2].fill_(0.25) is None or x,
    lambda x, y: nn.functional.dropout(x, 0.3),
    lambda x, y: x.masked_fill(y < 0, 0.1),
]


def run_program(seed):
    choose = random.Random(seed)
    torchlike.manual_seed(seed)
    leaf = put(4, 6, seed=seed).requires_grad_()
    held = [leaf * 1, put(4, 6, seed=seed + 1), put(4, 6, seed=seed + 2)]
    for _ in range(choose.randrange(4, 12)):
        held.append(choose.choice(STEPS)(choose.choice(held[-3:]), choose.choice(held).detach().clone()))
        if choose.random() < 0.1:
            held[-1].sum().item()
    sum(each.sum() for each in held if each.requires_grad).backward()
    return [*held, leaf.grad], [each._version for each in held]


@pytest.mark.parametrize("seed", [*range(11), 112])
def test_random_programs_give_what_eager_calls_give(seed):
    expected, versions = run_program(seed)
    with dc.pipeline():
        found, others = run_program(seed)
    assert versions == others
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.tolist(), other.tolist(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torchlike.float32, torchlike.int64, torchlike.bool])
def test_slices_that_overlap_are_read_before_they_are_written(dtype):
    def program(x):
        x = (x > 0).to(dtype) if dtype is torchlike.bool else x.to(dtype) * 2
        x.view(-1)[::2].fill_(1)
        x[1:].copy_(x[:-1].clone())
        x[:, :3].copy_(x[:, 1::2].clone())
        x[::2].copy_(x[1::2].clone())
        x[1:1].copy_(x[:0])
        x.T[1:].copy_(x.T[:-1].clone())
        return x

    given = torchlike.arange(-10.0, 14.0).reshape(4, 6)
    expected = program(given.clone())
    x = given.to("jax")
    with dc.pipeline():
        found = program(x.clone())
    assert found.tolist() == expected.tolist() == program(x.clone()).tolist()


#: Captured steps of a (4, 3) tensor that draw numbers, take values of the cpu, or look up rows.
REPLAYED = {
    "uniform_": lambda x: x.clone().uniform_() * 0 + x,
    "dropout": lambda x: torchlike.nn.functional.dropout(x, 0.0) + 1,
    "rand": lambda x: torchlike.rand(4, 3, device="jax") * 0 + x,
    "copy_ from the cpu": lambda x: x.clone().copy_(torchlike.ones(4, 3)) + x,
    "embedding_bag": lambda x: nn.functional.embedding_bag(x[:2, :2].to(torchlike.int64) % 4, x),
    "embedding_bag by max": lambda x: nn.functional.embedding_bag(x[:2, :2].to(torchlike.int64) % 4, x, mode="max"),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_steps_with_parts_that_are_not_compiled_are_replayed(name):
    step, eager = (made(REPLAYED[name]) for made in (torchlike.capture, lambda call: call))
    for start in range(6):
        x = (torchlike.arange(12.0) + start).reshape(4, 3).to("jax")
        np.testing.assert_allclose(step(x).tolist(), eager(x).tolist(), rtol=1e-6)
    assert step.stats().replays
