"""Captured functions give the results of the functions themselves, bit for bit, and say what they cannot do."""

import copy
import dataclasses
import gc
import math
import random
import re
import subprocess
import sys
import threading
import warnings
import weakref
from collections import Counter, OrderedDict, namedtuple

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_pipelines.capture.capture_stats import CaptureStats
from torchlike.nn import functional as F  # torch's own abbreviation

pytestmark = pytest.mark.no_pipeline(reason="opens its own")

Pair = namedtuple("Pair", "first second")  # noqa: PYI024  # what is made by it


@dataclasses.dataclass
class Both:
    first: object
    second: object


def tensor(*shape):
    return torchlike.arange(float(math.prod(shape))).reshape(*shape) * 0.37 - 1


def write_to_part(x):
    y = x * 2
    y[0].add_(x[1])
    return y, y[0]


#: Name → a function, and the shapes of its arguments.
FUNCTIONS = {
    "chain": (lambda x, y: (x * y + 1.5).clamp(min=0.1).sqrt() - x, (2, 3), (2, 3)),
    "view of an input": (lambda x: x.view(-1)[1:3].mul_(2), (2, 3)),
    "write to an input": (lambda x: x.add_(1), (2, 3)),
    "write to itself": (lambda x: x.add_(x), (6,)),
    "write to a part": (write_to_part, (2, 3)),
    "argument returned": (lambda x: (x, x + 1, x), (2, 3)),
    "random numbers": (lambda x: (x + torchlike.rand(2, 3), torchlike.randn(3), F.dropout(x, 0.5)), (2, 3)),
    "constant": (lambda x: x + torchlike.tensor([1.0, 2.0, 3.0]), (2, 3)),
    "constant written to": (lambda x: torchlike.tensor([1.0, 2.0, 3.0]).add_(x[0]), (2, 3)),
    "constant returned": (lambda x: (torchlike.tensor([1.0, 2.0]), x), (2, 3)),
    "parts": (lambda x: x.split(1), (3, 3)),
    "parts computed": (lambda x: [part * 2 for part in x.chunk(2)], (4, 2)),
    "softmax": (lambda x: F.softmax(x @ x.T, 1), (3, 4)),
    "loss": (lambda x: F.cross_entropy(x, torchlike.tensor([0, 1])), (2, 3)),
    "joined": (lambda x, y: torchlike.cat([x, y]), (2, 3), (1, 3)),
    "same device": (lambda x: x.to(x.device) + 1, (2, 3)),
    "copy of a part": (lambda x: x[1:].copy_(x[:-1].clone()), (6,)),
    "several results": (lambda x: x.max(1), (2, 3)),
    "alpha": (lambda x, y: x.add(y, alpha=2.5), (2, 3), (3,)),
    "dictionary": (lambda x: {"a": x + 1, 3: OrderedDict(b=x)}, (2, 3)),
    "named tuple": (lambda x: Pair(x, [x - 1, None, "text", 2.5]), (2, 3)),
    "dataclass": (lambda x: Both(x * 2, 7), (2, 3)),
    "nothing": (lambda x: None, (2, 3)),
    "transposed": (lambda x: x.t().contiguous().view(-1), (2, 3)),
    "clone": (lambda x: ((y := x * 2).clone().add_(1), y, x.t().mul(2).clone(), (x + 1).clone()), (2, 3)),
    "view of a clone": (lambda x: ((y := x * 2).view(6), y.clone()), (2, 3)),
    "clone of a view": (
        lambda x: ((x * 2).view(6).clone(), (y := x * 3).expand(2, 2, 3).clone(), y.add_(1)),
        (2, 3),
    ),
    "list of sizes": (lambda x: x.mul(2).reshape([3, 2]).permute([1, 0]), (2, 3)),
    "out": (lambda x, y: torchlike.add(x, x, out=y), (2, 3), (2, 3)),
}


def flat(value):
    if isinstance(value, torchlike.Tensor):
        return [value]
    if dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return [*value, *(item for each in value.values() for item in flat(each))]
    return [item for each in value for item in flat(each)] if isinstance(value, (list, tuple)) else [value]


def look(value, arguments):
    """Return what can be seen of a result, in comparable form."""
    if not isinstance(value, torchlike.Tensor):
        return value
    place = next((index for index, each in enumerate(arguments) if each is value), None)
    memory = [index for index, each in enumerate(arguments) if dc.storage_of(each) == dc.storage_of(value)]
    return (place, memory, value.dtype, value.shape, value.stride(), value.storage_offset(), value.tolist())


def compare(name, device):
    """Run a function and its capture five times each, and compare all that can be seen."""
    function, *shapes = FUNCTIONS[name]
    captured = dc.capture(function)
    with dc.Device(device):
        ours, theirs = ([tensor(*shape) for shape in shapes] for _ in range(2))
        for seed in range(5):
            logs = []
            for run, arguments in ((function, theirs), (captured, ours)):
                torchlike.manual_seed(seed)
                found = run(*arguments)
                values = flat(found)
                same = [[one is other for other in values] for one in values]
                logs.append((type(found), same, [look(each, arguments) for each in (*values, *arguments)]))
                logs[-1] += (float(torchlike.rand(())),)
                found = values = None
            assert logs[0] == logs[1], name
    return captured


@pytest.mark.parametrize("name", FUNCTIONS)
def test_replays_are_the_function(name):
    captured = compare(name, "cpu")
    assert (captured.stats().recordings, captured.stats().variants) == (2, 1)
    assert " step" in captured.explain()


#: A device without a plan, one whose arrays cannot be written to, one whose arrays have no strides either.
@pytest.mark.parametrize("device", ["sparing", "frozen", "strideless", pytest.param("npu", marks=pytest.mark.long)])
def test_replays_on_other_devices(device, request):
    request.getfixturevalue(device if device == "npu" else f"{device}_backend")
    # The simulator compiles each kernel.
    names = ["write to an input", "same device"] if device == "npu" else FUNCTIONS
    recordings = [compare(name, device).stats().recordings for name in names]
    # Operators that are met for the first time are registered then.
    assert sum(recordings) <= 3 * len(recordings)


@pytest.mark.parametrize("device", ["frozen"])
def test_copies_between_devices_are_steps(device, request):
    request.getfixturevalue(device if device == "npu" else f"{device}_backend")
    captured = dc.capture(lambda x: (x * 2).to(device).relu().cpu() + x)
    for number in range(6):
        x = tensor(2, 3) + number
        assert captured(x).tolist() == ((x * 2).relu() + x).tolist()
    assert captured.stats().replays >= 2


def test_copies_of_one_tensor_to_two_devices_are_two_steps(frozen_backend, strideless_backend):
    devices = "frozen", "strideless"
    for device in devices:
        torchlike.zeros(1, device=device)  # nothing is registered while the calls are recorded
    captured = dc.capture(lambda x: [(x * 2).to(device).relu() for device in devices])
    for number in range(4):
        x = tensor(2, 3) + number
        found = captured(x)
        assert [str(each.device) for each in found] == [*devices]
        assert [each.tolist() for each in found] == [(x * 2).relu().tolist()] * 2
    assert captured.stats().replays >= 1


def test_a_captured_function_may_outlive_the_modules(tmp_path):
    steps = "import torchlike\nx = torchlike.ones(3)\nstep = torchlike.capture(lambda x: x + 1)\nstep(x), step(x), step(x)\n"
    (tmp_path / "steps.py").write_text(steps)
    # A hook of sys is one of the last objects to go.
    kept = """
import sys, steps
assert steps.step.stats().replays
sys.unraisablehook = lambda error, step=steps.step, show=sys.__unraisablehook__: show(error)
"""
    done = subprocess.run([sys.executable, "-c", kept], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert not done.stderr


def test_results_of_two_calls_share_nothing():
    captured = dc.capture(lambda x: (x * 2, torchlike.tensor([1.0])))
    x = tensor(3)
    found = [each for _ in range(4) for each in captured(x)]
    assert len({dc.storage_of(each) for each in found}) == 8


REFUSED = {
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool((x > 0).all()),
    "mask": lambda x: x[x > 0],
    "tolist": lambda x: x.tolist(),
    "print": str,
    "numpy": lambda x: x.numpy(),
    "nonzero": lambda x: x.nonzero(),
    "seed": lambda x: torchlike.manual_seed(3),
    "resize": lambda x: torchlike.ones(1).resize_(3, 3),
    "generator returned": lambda x: (each for each in [x]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_replay_cannot_do(name):
    captured = dc.capture(REFUSED[name])
    for _ in range(2):
        with pytest.raises(dc.CaptureError) as caught:
            captured(tensor(2, 3))
    assert "Hint: " in str(caught.value)
    assert "test_capture.py" in str(caught.value) or name == "generator returned"
    assert torchlike.ones(2).tolist() == [1, 1]


def test_what_changes_from_call_to_call():
    count = [0.5]

    def scaled(x):
        count[0] += 1
        return x * count[0]

    captured = dc.capture(scaled)
    x = tensor(2)
    assert captured(x).tolist() == (x * 1.5).tolist()
    for call in range(3):
        with pytest.raises(dc.CaptureError, match=r"aten::mul\S* gets") as caught:
            captured(x)
        assert f"{call + 1.5}, then {call + 2.5}" in str(caught.value)
        assert "test_capture.py" in str(caught.value)


def _draw_steps(draw):
    """Return steps as data: the name of a method, and a number or the index of an earlier value."""
    steps = []
    for count in range(2, draw.randrange(4, 9)):
        steps.append((draw.choice(["mul", "add", "sub"]), draw.choice([0.5, 2.0, -1.25, draw.randrange(count)])))
    return steps


def _change(draw, steps):
    """Return the steps with one of them changed, and its index."""
    place, changed = draw.randrange(len(steps)), list(steps)
    name, operand = steps[place]
    if draw.random() < 0.3:
        changed[place] = {"mul": "add", "add": "sub", "sub": "mul"}[name], operand
    else:
        others = [0.5, 2.0, -1.25, -0.0, 0, 1]
        changed[place] = name, draw.choice([each for each in others if (each, type(each)) != (operand, type(operand))])
    return changed, place


@pytest.mark.parametrize("seed", range(16))
def test_two_recordings_that_differ_in_one_step_are_told_apart_by_it(seed):
    draw = random.Random(seed)
    steps = _draw_steps(draw)
    changed, place = _change(draw, steps)
    plays = iter([steps, changed])

    def run(x, y):
        values = [x, y]
        for name, operand in next(plays):
            other = values[operand] if type(operand) is int else operand
            values.append(getattr(values[-1], name)(other))
        return sum(values[2:], torchlike.zeros(3))  # each is needed

    captured = dc.capture(run)
    captured(tensor(3), tensor(3))
    with pytest.raises(dc.CaptureError) as caught:
        captured(tensor(3), tensor(3))
    text = str(caught.value)
    assert re.search(r"step \d+ is aten::| gets ", text)
    assert f"{__file__}:" in text
    assert re.search(rf"aten::({steps[place][0]}|{changed[place][0]})\b", text)


def test_two_equal_recordings_are_replayed():
    for seed in range(10):
        steps = _draw_steps(random.Random(seed))

        def run(x, y, steps=steps):
            values = [x, y]
            for name, operand in steps:
                values.append(getattr(values[-1], name)(values[operand] if type(operand) is int else operand))
            return values[-1]

        captured, x, y = dc.capture(run), tensor(3), tensor(3)
        expected = run(x, y).tolist()
        assert [captured(x, y).tolist() for _ in range(3)] == [expected] * 3
        assert captured.stats().replays == 1


def test_check_finds_what_changes_later():
    factor = [2.0]
    captured = dc.capture(lambda x: x * factor[0], check=2)
    for _ in range(6):
        captured(tensor(2))
    factor[0] = 3.0
    with pytest.raises(dc.CaptureError, match=r"gets 2\.0, then 3\.0"):
        for _ in range(2):
            captured(tensor(2))


def test_live_numbers():
    number = [0.0]

    def scaled(x):
        factor = dc.capture.number(lambda: number[0])
        return (x * (2 * factor - 1) + x * factor**2, "large" if factor > 3 else "small", factor)

    captured = dc.capture(scaled)
    for step in range(10):
        number[0] = 0.75 * step
        (ours, *rest), (theirs, *expected) = captured(tensor(3)), scaled(tensor(3))
        assert ours.tolist() == theirs.tolist()
        assert rest == expected
    assert captured.stats().variants == 2
    assert captured.stats().recordings == 4


NUMBERS = {
    "int or float": (lambda x, number: x * number, [1, 1, 1, 0.5, 0.5, 0.5, 1, True, True, 2, 2]),
    "made of it": (lambda x, number: torchlike.full((2,), number), [1, 2, 2, 1, 1, 2.5, 2.5, 2.5]),
    "computed where it is used": (
        lambda x, number: x * (1 / number if number else 0.0),
        [1.0, 1.0, 1.0, 0.0, 0.0, 2.0],
    ),
    "an error of its own": (lambda x, number: x * attempt(lambda: 1 / number), [1.0, 1.0, 1.0, 0.0, 0.0, 2.0]),
    "power of ints": (lambda x, number: x.long() * 2**number, [1, 1, 1, -1, -1, 2, 2]),
    "steps": (lambda x, number: sum((x for _ in range(number)), x), [1, 1, 1, 3, 3, 2, 1]),
    "places": (
        lambda x, number: x[:number] * [1.0, 2.0, 3.0, 4.0][number] + [*"abc"].index("abc"[number]),
        [1, 1, 1, 2, 2, 0, 1],
    ),
    "lengths": (lambda x, number: torchlike.cat([x] * number + [x]), [1, 1, 1, 2, 2, 0, 1]),
    "bits": (lambda x, number: x * (number & 1) + (number << 1) + divmod(number, 2)[0] + ~number, [1, 1, 1, 2, 2, 3]),
    "readings": (
        lambda x, number: x * math.sqrt(number) + len(f"{number:b}") + number.bit_length() + round(number, -1),
        [1, 1, 1, 4, 4, 16, 4],
    ),
    "a key": (lambda x, number: x + {4: 9}.get(number, 0), [1, 1, 1, 4, 4, 16, 4]),
    "its type": (lambda x, number: x + isinstance(number, int), [1, 1, 1, 0.5, 0.5, 2]),
    "power of floats": (lambda x, number: abs(number**0.5) * x, [1.0, 1.0, 1.0, -4.0, -4.0, -9.0, -9.0]),
}


def attempt(function):
    try:
        return function()
    except ZeroDivisionError:
        return -1.0


@pytest.mark.parametrize("name", NUMBERS)
def test_live_numbers_of_other_types_and_values(name):
    function, values = NUMBERS[name]
    number = [0]
    captured = dc.capture(lambda x: function(x, dc.capture.number(lambda: number[0])))
    for value in values:
        number[0] = value
        found, expected = captured(tensor(2)), function(tensor(2), value)
        assert (found.tolist(), found.dtype) == (expected.tolist(), expected.dtype)
    assert captured.stats().replays


def test_a_live_int_decides_once():
    number = dc.capture.number
    captured = dc.capture(lambda x: (int(count := number(lambda: 3)), int(count), count == 3, count == 3, x + 1)[-1])
    for _ in range(4):
        captured(tensor(2))
    assert [captured.explain().count(text) for text in (") is 3", "== 3) is True")] == [1, 1]
    # An operator that a process calls for the first time is given the number twice.
    fresh = (
        "import dispatch_core as dc, torchlike\n"
        "captured = dc.capture(lambda x: x * dc.capture.number(lambda: 2))\n"
        "assert [captured(torchlike.ones(1)).item() for _ in range(3)] == [2] * 3 and captured.stats().replays\n"
    )
    subprocess.run([sys.executable, "-c", fresh], check=True)


def test_which_containers_are_one_object_is_a_guard():
    captured = dc.capture(
        lambda one, *more, **named: ([one is each for each in (*more, *named.values())], more, one[0] * 2)
    )
    x, kinds = tensor(2), set()
    for _ in range(4):
        one, other = [x], [x]
        for more, named in (((one, other), {}), ((other, one), {}), ((other, [x]), {}), ((), {"a": other, "b": other})):
            same, given, made = captured(one, *more, **named)
            assert same == [one is each for each in (*more, *named.values())]
            assert (
                all(found is each for found, each in zip(given, more, strict=True))
                and made.tolist() == (x * 2).tolist()
            )
            kinds.add(tuple(same))
    assert len(kinds) == 3
    assert captured.stats().variants == 4
    assert any("the one that is argument 0" in why for why in captured.stats().misses)


def test_other_arguments_are_other_variants():
    captured = dc.capture(lambda x, n=1, **more: x * n + len(more))
    calls = [
        ((tensor(2),), {}),
        ((tensor(3),), {}),
        ((tensor(2).double(),), {}),
        ((tensor(2, 3).t(),), {}),
        ((tensor(2), 2), {}),
        ((tensor(2), 2.0), {}),
        ((tensor(2),), {"a": 1}),
    ]
    for _ in range(3):
        for args, kwargs in calls:
            assert captured(*args, **kwargs).tolist() == (args[0] * (args[1] if args[1:] else 1) + len(kwargs)).tolist()
    stats = captured.stats()
    assert (stats.variants, stats.recordings, stats.replays) == (7, 14, 7)
    assert any("dtype" in why or "float64" in why or "int64" in why or "argument" in why for why in stats.misses)


def test_arguments_are_guards_by_value():
    captured = dc.capture(lambda x, other: x * 2)
    for make in (
        lambda: {1, 2},
        lambda: np.float64(2.5),
        lambda: np.float32(2.5),
        lambda: torchlike.device("cpu", 0),
        lambda: torchlike.float64,
        lambda: math.nan,
        lambda: -0.0,
        lambda: 0.0,
        lambda: {"a": [1, (2.0, "b")]},
        lambda: 1 << 80,
        lambda: slice(1, 2),
    ):
        before = captured.stats().recordings
        for _ in range(4):
            captured(tensor(2), make())
        assert captured.stats().recordings == before + 2, make()
        captured.clear()


def test_arrays_of_the_host_are_no_constants():
    captured = dc.capture(lambda x, array: x + torchlike.from_numpy(array))
    with pytest.raises(dc.CaptureError, match="pass a tensor"):
        captured(tensor(3), np.ones(3, np.float32))


def test_tensors_found_elsewhere_are_inputs():
    weight, other = tensor(3), [tensor(3)]
    captured = dc.capture(lambda x: x @ weight + other[0].sum())
    x = tensor(2, 3)
    for _ in range(4):
        assert captured(x).tolist() == (x @ weight + other[0].sum()).tolist()
        weight.add_(1)
    weight.data = tensor(3) * 3
    assert captured(x).tolist() == (x @ weight + other[0].sum()).tolist()
    assert captured.stats().recordings == 2
    gone = weakref.ref(weight)
    assert gone() is not None


@pytest.mark.parametrize("writes", [False, True])
def test_which_arguments_are_one_object_is_a_guard(writes):
    """Two, three and more arguments, in containers and not, and tensors that the function finds elsewhere."""
    weight = tensor(3)

    def function(first, *others):
        tensors = [first, *(each for other in others for each in (other if isinstance(other, list) else [other]))]
        same = [one is other for one in (*tensors, weight) for other in (*tensors, weight)]
        found = first.add_(1) * 1 if writes and same[1] else first * 1
        for number, each in enumerate(same):
            found = found * (weight if each else number)
        return found

    captured = dc.capture(function, max_variants=20)
    x, y, z, u = (tensor(3) + number for number in range(4))
    for calls in (
        [(x,), (weight,)],
        [(x, y), (x, x), (x, weight)],
        [(x, y, z), (x, x, z), (x, y, x), (x, y, y), (x, y, weight)],
        [(x, [y, z], u), (x, [y, y], u), (x, [y, z], x)],
    ):
        for call in (*calls, *(call for call in calls for _ in range(3)), *calls):
            before = call[0].clone()
            expected = function(*call).tolist()
            call[0].copy_(before)
            assert captured(*call).tolist() == expected
            call[0].copy_(before)
    assert captured.stats().variants == 13
    assert any(why.endswith("are one object now") for why in captured.stats().misses)


RETURNED = {
    "itself": lambda d: d,
    "in a list": lambda d: [d, d["x"] * 2],
    "a part": lambda d: (d["list"], d["list"][1], d["set"], d["pair"]),
    "in a container of its own": lambda d: {"d": d, "more": {**d, "y": d["x"] + 1}},
    "a copy": lambda d: (dict(d), list(d["list"]), set(d["set"])),
    "a dataclass": lambda d: (d["both"], Both(d["both"].first, d)),
}


@pytest.mark.parametrize("name", RETURNED)
def test_containers_among_the_arguments_are_returned_as_they_are(name):
    """Each call returns its own argument, not one of an earlier call nor a copy."""

    def look(function):
        arguments = {"x": tensor(3), "list": [tensor(2), {"y": 1.5}], "set": {1, 2}, "pair": Pair(1, tensor(3))}
        arguments["both"] = Both(tensor(1), [3])
        given = [
            arguments,
            *arguments.values(),
            arguments["list"][1],
            arguments["both"].second,
            arguments["both"].first,
        ]
        seen = []

        def walk(value):
            seen.append(next((number for number, each in enumerate(given) if each is value), type(value)))
            if isinstance(value, (list, tuple, dict)) and value is not arguments:
                for each in value.values() if isinstance(value, dict) else value:
                    walk(each)
            elif isinstance(value, Both):
                walk([value.first, value.second])

        walk(function(arguments))
        return seen

    captured = dc.capture(RETURNED[name])
    assert [look(captured) for _ in range(4)] == [look(RETURNED[name])] * 4
    assert captured.stats().replays == 2


def test_containers_that_the_call_changes_are_made_again():
    def extend(found, number):
        found["list"].append(found["x"] * number)
        return found

    captured = dc.capture(extend)
    for number in range(4):
        x = tensor(3) + number
        found = captured({"x": x, "list": []}, 2)
        assert found["x"] is x
        assert found["list"][0].tolist() == (x * 2).tolist()


def test_shared_memory_is_a_guard():
    def write(x, y):
        x.add_(1)
        return y * 2

    captured = dc.capture(write)
    x, y = tensor(3), tensor(3)
    for first, second in [(x, y)] * 3 + [(x, x)] * 3 + [(x, x.view(3))] * 3 + [(x, y)]:
        expected = ((first + 1) if dc.storage_of(first) == dc.storage_of(second) else second) * 2
        assert captured(first, second).tolist() == expected.tolist()


def test_errors_of_a_replay():
    captured = dc.capture(lambda x, index: x.index_select(0, index) + 1)
    x = tensor(3)
    for _ in range(3):
        captured(x, torchlike.tensor([0, 2]))
    with pytest.raises(IndexError, match="index_select") as caught:
        captured(x, torchlike.tensor([0, 7]))
    assert "test_capture.py" in str(caught.value)
    assert captured(x, torchlike.tensor([0, 1])).tolist() == (x[:2] + 1).tolist()


def test_layers_run_the_function():
    captured = dc.capture(lambda x: (x + 1).relu())
    for _ in range(3):
        captured(tensor(2))
    with dc.profile() as profile:
        captured(tensor(2))
    assert "aten::relu" in profile.table()
    assert torchlike.func.vmap(captured)(tensor(2, 2)).shape == (2, 2)
    assert captured.stats().eager == {"under Profiler": 1, "under FuncTorchDynamicLayerFrontMode": 1}


def test_pipelines_around_and_captures_inside():
    inner = dc.capture(lambda x: x.mul_(2))
    outer = dc.capture(lambda x: inner(x) + 1)
    x, y = tensor(3), tensor(3)
    for _ in range(5):
        with dc.pipeline():
            x.add_(1)
            found = outer(x + 0)
            x.mul_(0.5)
        expected = ((y.add_(1) + 0) * 2) + 1
        y.mul_(0.5)
        assert (found.tolist(), x.tolist()) == (expected.tolist(), y.tolist())
    assert outer.stats().recordings == 2
    assert inner.stats().recordings == 0


def test_a_pipeline_inside_does_nothing():
    pipe = dc.pipeline()

    def function(x):
        with pipe, dc.pipeline(max_ops=1) as inner:
            with pipe:
                found = x + 1
            assert inner is not pipe
            return found * 2

    captured = dc.capture(function)
    for _ in range(4):
        assert captured(tensor(3)).tolist() == function(tensor(3)).tolist()
    assert captured.stats().replays == 2
    with pipe:
        assert (tensor(3) + 1).tolist() == (tensor(3) + 1).tolist()


def test_functions_that_cannot_be_captured():
    async def coroutine():
        pass

    def generator():
        yield 1

    for each in (coroutine, generator, 3):
        with pytest.raises(dc.ArgumentError, match="capture"):
            dc.capture(each)
    with pytest.raises(dc.ArgumentError, match="check"):
        dc.capture(len, check=-1)
    for options in ({"chek": 1}, {"max_variants": 1, "variants": 2}):
        for given in ((), (len,)):
            with pytest.raises(dc.ArgumentError, match=r"unexpected option '\w+'\nHint: it takes check, max_variants"):
                dc.capture(*given, **options)


def test_too_many_variants_are_said_once():
    captured = dc.capture(lambda x, n: x * n, max_variants=2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for n in range(5):
            for _ in range(3):
                captured(tensor(2), n)
    assert [str(each.message).partition(",")[0] for each in said] == [
        f"{captured.__qualname__} is captured in more than 2 variants"
    ]
    assert captured.stats().variants == 2
    captured.clear()
    assert captured.stats().variants == 0


def test_the_most_frequent_reasons_are_kept_and_the_others_are_counted():
    for seed in range(20):
        choose, stats, all_of_them = random.Random(seed), CaptureStats(), Counter()
        for call in range(1000):
            why = f"argument {choose.randrange(6)}" if choose.random() < 0.5 else f"call {call}"
            stats.count_miss(why)
            all_of_them[why] += 1
        frequent = [why for why in all_of_them if why.startswith("argument")]
        # A reason that was rare at first may have been among the others then.
        assert all(0 <= all_of_them[why] - stats.misses[why] <= 3 for why in frequent)
        assert stats.misses.total() == 1000
        assert len(stats.misses) <= 33


def test_a_function_whose_calls_all_differ_keeps_few_reasons():
    captured = dc.capture(lambda x, n: x * 2, max_variants=1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for n in range(80):
            captured(tensor(1), n // 2)
            captured(tensor(1), n // 2)
    assert all("of other reasons" not in str(each.message) for each in said)
    stats = captured.stats()
    assert (len(stats.misses) <= 33, stats.misses.total()) == (True, 40)
    assert "of other reasons" in captured.explain()
    assert "of other reasons" in str(stats)


def test_nothing_is_kept_alive():
    class Model:
        def __init__(self):
            self.weight = tensor(3)
            self.step = dc.capture(self.forward)

        def forward(self, x):
            return x * self.weight

    model = Model()
    x = tensor(3)
    for _ in range(4):
        found = model.step(x)
    assert found.tolist() == (x * model.weight).tolist()
    step, gone = model.step, [weakref.ref(each) for each in (model, model.weight, x)]
    del model, x, found
    gc.collect()
    assert [each() for each in gone] == [None] * 3
    with pytest.raises(dc.CaptureError, match="gone"):
        step(tensor(3))


def test_threads_replay_one_variant():
    captured = dc.capture(lambda x: (x * 2 + 1).sum())
    x = tensor(50)
    for _ in range(2):
        captured(x)
    expected, wrong = captured(x).item(), []

    def work():
        wrong.extend(found for _ in range(200) if (found := captured(x).item()) != expected)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert captured.stats().recordings == 2


def test_raw_arrays_need_no_frontend():
    aten = dc.ops.aten
    weight = np.ones(3, np.float32)

    @dc.capture
    def step(x):
        y = aten.mul(x, weight)
        aten.add_(weight, x)
        return y, x

    x, expected = np.arange(3, dtype=np.float32), np.ones(3, np.float32)
    for _ in range(5):
        y, same = step(x)
        assert same is x
        assert y.tolist() == (x * expected).tolist()
        expected += x
    assert weight.tolist() == expected.tolist()
    assert step.stats().recordings == 2


def test_other_registrations_are_recorded_once():
    captured = dc.capture(lambda x: x.relu() + 1)
    x = tensor(4)
    for _ in range(3):
        captured(x)
    with dc.Library("capture_test", "FRAGMENT") as other:
        other.define("unrelated(Tensor self) -> Tensor")
        other.impl("unrelated", lambda self: self, "CPU")
        for _ in range(3):
            assert captured(x).tolist() == (x.relu() + 1).tolist()
        assert captured.stats().recordings <= 3
    with dc.Library("aten", "IMPL") as own:
        with pytest.warns(dc.OverwriteWarning):
            own.impl("relu", np.zeros_like, "CPU")
        for _ in range(4):
            assert captured(x).tolist() == [1.0] * 4
    for _ in range(4):
        assert captured(x).tolist() == (x.relu() + 1).tolist()
    assert captured.stats().recordings <= 8


def test_an_argument_that_is_found_elsewhere_too():
    weight = tensor(3)
    captured = dc.capture(lambda x: x * 2 + weight)
    for given in [weight] * 4 + [tensor(3) + 1] * 4 + [weight]:
        assert captured(given).tolist() == (given * 2 + weight).tolist()
    assert captured.stats().recordings == 4


def test_modules_and_copies():
    class Net(torchlike.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torchlike.nn.Linear(3, 2)
            self.quick = dc.capture(self.forward)

        def forward(self, x):
            return self.layer(x)

    net, x = Net(), tensor(4, 3)
    other = copy.deepcopy(net)
    other.layer.weight.data.zero_()
    for captured, plain in ((net.quick, net), (other.quick, other), (dc.capture(net), net)):
        assert not hasattr(captured, "_parameters")
        for _ in range(4):
            assert captured(x).tolist() == plain(x).tolist()
        assert captured.stats().recordings == 2


def test_an_error_of_the_function_leaves_what_it_did():
    def write_and_fail(x):
        x.add_(1)
        raise KeyError("no")

    captured, x = dc.capture(write_and_fail), tensor(2)
    for number in range(3):
        with pytest.raises(KeyError):
            captured(x)
        assert x.tolist() == (tensor(2) + number + 1).tolist()
    assert captured.stats().replays == captured.stats().recordings == 0


@pytest.mark.parametrize("params", [[], torchlike.nn.Linear(2, 2)], ids=["none", "a model"])
def test_an_optimizer_whose_constructor_failed_is_not_known(params):
    """The traceback keeps it alive, as that of the last error does at a prompt."""
    with pytest.raises((TypeError, ValueError)) as kept:
        torchlike.optim.SGD(params, lr=0.1)
    double = torchlike.capture(lambda x: x * 2)
    assert [double(torchlike.ones(1)).item() for _ in range(3)] == [2, 2, 2]
    assert double.stats().replays == 1
    assert kept.traceback
