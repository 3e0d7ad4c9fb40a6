"""Random programs mean the same as captured functions as they do eagerly.

Results, views, versions, gradients and random numbers are compared, and what a program does with results afterwards.
The programs are those of `test_pipeline_programs`, without what reads values. Each is a function of some tensors that uses
others, and is called again and again: with other values, and other shapes in between.
"""

import os
import random
import re
import sys
import warnings

import pytest
from test_pipeline_programs import BOUNDARIES, KINDS, SIZES, Machine, facts, gradient, numbers, values

import dispatch_core as dc
import torchlike
from dispatch_aten.errors import OperatorError
from torchlike import nn, optim

pytestmark = pytest.mark.no_pipeline(reason="captured functions run outside of pipelines, or flush them")

PROGRAMS = int(os.environ.get("CAPTURED_PROGRAMS", "32"))
FIRST = 100_000 * sys.version_info.minor
CHUNKS = 4
CALLS = 6
#: Kinds of steps that read values, lend memory, run the user's functions, or change settings or a storage's size.
LEFT_OUT = {*BOUNDARIES, "share", "slices", "user_write", "release", "peek", "hook", "no_grad", "state", "resize_",
            "out_resized", "deepcopy", "as_strided", "index_add", "seed", "save_state", "flush", "nest",
            "unnest"}  # fmt: skip


class Program(Machine):
    """One program; each call makes the same choices."""

    def __init__(self, seed, device="cpu"):
        super().__init__(seed, False, device)
        self.seed_of_choices, self.device = seed, device
        self.kinds = [kind for kind in KINDS if kind not in LEFT_OUT]

    def __call__(self, steps, *given):
        self.choose, self.log = random.Random(self.seed_of_choices), []
        self.tensors = list(given)
        for _ in range(steps):
            self.step()
        found, self.tensors = self.tensors, []
        return found

    def attempt(self, call, *args):
        """Make a call that may be refused, but not for being captured."""
        try:
            return call(*args)
        except dc.CaptureError:
            raise
        except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError):
            return None

    def to_cpu(self):
        x = self.pick()
        assert x.to(self.device) is x


def make_inputs(choose, shapes, device):
    """Return leaves that require grad, others that do not, and a view of one of these."""
    made = []
    for number, shape in enumerate(shapes):
        x = torchlike.tensor(numbers(choose, shape)).to(device)
        if number % 2:
            x.requires_grad_()
        elif shape and number % 4 == 0:
            x = x[:]
        made.append(x)
    return made


def run(seed, captured, device):
    """Return everything that can be seen of a program that is called a few times."""
    choose = random.Random(seed)
    torchlike.manual_seed(seed % 1000)
    program, steps = Program(seed, device), 4 + seed % 20
    shapes = [choose.choice(SIZES) for _ in range(4)]
    kept = make_inputs(choose, [choose.choice(SIZES) for _ in range(2)], device)
    called = (
        dc.capture(lambda *given: program(steps, *given, *kept))
        if captured
        else (lambda *given: program(steps, *given, *kept))
    )
    log = []
    for call in range(CALLS):
        given = make_inputs(choose, shapes[::-1] if call == CALLS - 2 else shapes, device)
        found = called(*given)
        log.append([[each is other for other in (*given, *kept)] for each in found])
        for x in (*found, *given, *kept):
            log.append((attempt(facts, x), values(x), gradient(x), None if x._base is None else values(x._base)))
        log.append([found[place] is found[other] for place in range(len(found)) for other in range(place)])
        for x in found:
            log.append(attempt(run_backward, x, call % 2 == 0))
        log.append([gradient(x) for x in (*found, *given, *kept)])
        for x in found[:2]:
            if not x.requires_grad and x.is_floating_point():
                x.mul_(0.5)
        log.append([(values(x), x._version) for x in (*found, *given, *kept)])
    log.append(str(torchlike.get_rng_state()))
    return log, called


def attempt(call, *args):
    """Return a call's result, or its error as text."""
    try:
        return call(*args)
    except RuntimeError as error:
        return str(error)


def run_backward(x, keep):
    if x.requires_grad and not x.is_leaf:
        x.sum().backward(retain_graph=keep)


def compare(seed, device="cpu"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, _ = run(seed, False, device)
        try:
            found, captured = run(seed, True, device)
        except dc.CaptureError as error:
            # What a kernel refuses by its dtypes is refused while the call is recorded, and what an earlier call began.
            assert re.search("not implemented for|made before", str(error))  # noqa: PT017  # the program may as well raise nothing
            return 0
    for number, (want, got) in enumerate(zip(expected, found, strict=False)):
        if repr(want) != repr(got):
            pytest.fail(f"program {seed}, entry {number}:\neagerly:  {want}\ncaptured: {got}")
    assert len(expected) == len(found)
    return captured.stats().replays


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs_mean_the_same_captured(chunk):
    replays = [compare(seed) for seed in range(FIRST + chunk, FIRST + PROGRAMS, CHUNKS)]
    assert sum(replays) > len(replays)


def test_random_programs_on_arrays_that_cannot_be_written(frozen_backend):
    assert sum(compare(seed, "frozen") for seed in range(FIRST, FIRST + PROGRAMS // 4)) > 0


OPTIMIZERS = {
    "SGD": lambda given: optim.SGD(given, lr=0.1, momentum=0.9),
    "Adam": lambda given: optim.Adam(given, lr=0.1),
}


def train(device, make, steps, captured):
    torchlike.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 3)).to(device)
    optimizer = make(net.parameters())

    def step(x, target):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), target)
        loss.backward()
        optimizer.step()
        return loss

    called = dc.capture(step) if captured else step
    log = []
    for _ in range(steps):
        loss = called(torchlike.randn(7, 4).to(device), torchlike.randint(0, 3, (7,)).to(device))
        log.append((loss.item(), loss._version, loss.grad_fn.name()))
    log += [(each.tolist(), each._version, each.grad.tolist(), each.grad._version) for each in net.parameters()]
    states = optimizer.state_dict()["state"].values()
    log += [[(name, value.tolist(), value._version) for name, value in state.items()] for state in states]
    return log, called


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("device", ["cpu", "frozen", "strideless"])
def test_captured_training_steps_are_the_eager_ones_on_every_kind_of_array(device, name, request):
    if device != "cpu":
        request.getfixturevalue(f"{device}_backend")
    steps = 50 if device == "cpu" else 12
    expected, _ = train(device, OPTIMIZERS[name], steps, captured=False)
    found, captured = train(device, OPTIMIZERS[name], steps, captured=True)
    assert found == expected
    assert (captured.stats().variants, captured.stats().replays) == (1, steps - 3)


#: Calls that write to ``o``, and read ``x`` and ``y``: all of four elements in one memory.
WRITES = {
    "add.out": lambda o, x, y: torchlike.add(x, y, out=o),
    "mul.out": lambda o, x, y: torchlike.mul(x, 2.0, out=o),
    "exp.out": lambda o, x, y: torchlike.sin(x, out=o),
    "where.out": lambda o, x, y: torchlike.where(x > y, x, y, out=o),
    "cat.out": lambda o, x, y: torchlike.cat([x[:2], y[2:]], out=o),
    "cumsum.out": lambda o, x, y: torchlike.cumsum(x, 0, out=o),
    "sort.out": lambda o, x, y: torchlike.sort(x, out=(o, torchlike.empty(4, dtype=torchlike.int64)))[0],
    "gather.out": lambda o, x, y: torchlike.gather(x, 0, torchlike.tensor([1, 3, 0, 0]), out=o),
    "sum.out": lambda o, x, y: torchlike.sum(x.reshape(2, 2), 0, out=o[1:3]),
    "part.out": lambda o, x, y: torchlike.add(x[:2], y[1:3], out=o[2:]),
    "add_": lambda o, x, y: o.add_(x),
    "mul_": lambda o, x, y: o.mul_(y),
    "addcmul_": lambda o, x, y: o.addcmul_(x, y),
    "copy_": lambda o, x, y: o.copy_(x),
    "part_": lambda o, x, y: o[:3].sub_(x[1:]),
    "scatter_add_": lambda o, x, y: o.scatter_add_(0, torchlike.tensor([0, 2, 2, 1]), x),
    "lerp_": lambda o, x, y: o.lerp_(x, 0.5),
    "sin": lambda o, x, y: torchlike.sin(o) + x.storage_offset(),
}
ALIASES = int(os.environ.get("CAPTURED_ALIASES", "40"))


def call_on_aliases(called, starts, step):
    """Return what a call on parts of one buffer gives or refuses, and the buffer."""
    buffer = torchlike.arange(24.0) / 8
    parts = [buffer[start : start + 4 * step : step] for start in starts]
    try:
        found = called(*parts).tolist()
    except OperatorError as error:
        # Pipelines and replays say which step has failed.
        return re.findall("some elements of the input tensor|more than one element", str(error)), None
    return found, buffer.tolist()


def test_replays_refuse_what_overlaps_where_eager_calls_do():
    choose = random.Random(FIRST)
    refused = replays = 0
    for _ in range(ALIASES):
        names, step = choose.choices([*WRITES], k=1 + choose.randrange(2)), choose.choice([1, 1, 1, 2])

        def program(o, x, y, names=names):
            for name in names:
                found = WRITES[name](o, x, y)
            return found * 2

        captured = dc.capture(program, max_variants=64)
        first = choose.choice([(0, 8, 16), (16, 8, 12), (8, 8, 0)])
        calls = [first] * 4 + [tuple(choose.randrange(16) for _ in range(3)) for _ in range(5)]
        calls += [(start, start + choose.randrange(-3, 4), 0) for start in range(4, 12, 3)] + [first]
        for starts in calls:
            expected = call_on_aliases(program, starts, step)
            assert call_on_aliases(captured, starts, step) == expected, (names, step, starts)
            refused += expected[1] is None
        replays += captured.stats().replays
    assert refused > ALIASES
    assert replays > 2 * ALIASES
