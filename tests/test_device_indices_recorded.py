"""Pipelines and captured functions on devices of one type with several indices."""

from contextlib import nullcontext

import paired_devices as twins
import pytest
from mixed_indices import MIXTURES, WORDS, WRITES, Stop

import dispatch_core as dc
import torchlike
from dispatch_core.runtime import guards
from torchlike.nn import functional as F


@pytest.fixture
def twin():
    """The device, with an array on each index: 2 by 3 ones."""
    with twins.register():
        first = torchlike.ones(2, 3, device="twin:0")
        second = torchlike.ones(2, 3, device="twin:1")
        twins.wrong.clear()
        yield first, second
        assert not twins.wrong
        assert twins.current() == 0


def on(index):
    return guards.OnDevice(guards.find_interface("twin"), index)


@pytest.mark.parametrize("name", [*MIXTURES, *WRITES])
@pytest.mark.parametrize("turned", [False, True])
def test_recorded_mixtures_are_refused_at_their_line(twin, name, turned):
    x, y = reversed(twin) if turned else twin
    with torchlike.pipeline():
        a, b = x * 1, y * 1
        with pytest.raises(dc.DeviceMismatchError, match=WORDS):
            {**MIXTURES, **WRITES}[name](a, b)
        assert (a.device, b.device) == (x.device, y.device)
    assert a.tolist() == b.tolist() == [[1.0] * 3] * 2


def test_a_pipeline_records_on_several_devices(twin):
    x, y = twin
    with torchlike.pipeline() as pipe:
        found = [((each * 2 + each).exp() @ each.t()).sum() for each in (x, y, x + 1, y + 1)]
        assert all(each._pending for each in found)
        assert [each.device.index for each in found] == [0, 1, 0, 1]
    assert not pipe.stats().eager
    assert [each.device.index for each in found] == [0, 1, 0, 1]
    expected = [((each * 2 + each).exp() @ each.t()).sum().item() for each in (x, y, x + 1, y + 1)]
    assert [each.item() for each in found] == pytest.approx(expected)


def test_a_recorded_factory_lands_where_the_threads_device_was(twin):
    with torchlike.pipeline():
        with on(1):
            x = torchlike.ones(3, device="twin")
            like = torchlike.zeros_like(twin[0], device="twin")
        y = torchlike.ones(3, device="twin")
        drawn = torchlike.rand(3, device="twin:1") + torchlike.tensor([1.0] * 3, device="twin:1")
        assert [each.device.index for each in (x, like, y, drawn)] == [1, 1, 0, 1]
    assert [each.device.index for each in (x, like, y, drawn)] == [1, 1, 0, 1]
    with torchlike.pipeline(), on(1):
        late = torchlike.ones(3, device="twin") + 1
        assert late.device.index == 1
    assert late.device.index == 1 and late.tolist() == [2.0] * 3


def _view(x, open_second):
    x = x * 2
    early = x[0]
    open_second()
    late = x.t(), x[1:], x.detach(), x.view(-1), early[1:], x.chunk(2, 1)[1], x.unbind()[0]
    late[1].mul_(3)
    early.add_(1)
    return x, early, *late, x + late[2]


#: Kernels of views, which are composed otherwise.
VIEWS = ("detach", "t", "slice.Tensor", "view", "select.int", "split.Tensor", "unbind.int")


@pytest.mark.parametrize("views", [(), VIEWS])
def test_what_was_recorded_before_a_second_device_was_in_use_is_viewed_after_it(views):
    expected = _view(torchlike.ones(2, 3), lambda: None)
    with twins.register(twins.make_kernels([*twins.MORE, *views])):
        start = torchlike.ones(2, 3, device="twin")

        def open_second():
            with on(1):
                torchlike.ones(3, device="twin")

        with torchlike.pipeline() as pipe:
            found = _view(start, open_second)
            assert [each.device.index for each in found] == [0] * len(found)
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]
        assert not pipe.stats().eager
        with torchlike.pipeline():
            again = _view(start, open_second)
        assert [each.tolist() for each in again] == [each.tolist() for each in expected]
        assert not twins.wrong


def test_a_factory_that_was_recorded_before_a_second_device_was_in_use_stays_on_the_first():
    with twins.register():
        with torchlike.pipeline():
            x = torchlike.ones(3, device="twin") * 2
            guard = on(1)
            guard.__enter__()
            y = torchlike.ones(3, device="twin") * 3
            assert (x.device.index, y.device.index) == (0, 1)
            with pytest.raises(dc.DeviceMismatchError):
                x + y
        assert (x.device.index, y.device.index) == (0, 1)
        assert x.tolist() == [2.0] * 3 and y.tolist() == [3.0] * 3
        guard.__exit__(None, None, None)
        assert not twins.wrong


def test_recorded_copies_go_from_one_index_to_the_other(twin):
    x, y = twin
    with torchlike.pipeline():
        made = y * 3
        x.copy_(made)
        moved = (x + 1).to("twin:1")
        both = moved + y
        x[0] = y[0] * 7
    assert x.tolist() == [[7.0] * 3, [3.0] * 3] and both.device.index == 1 and both.tolist() == [[5.0] * 3] * 2
    leaf = torchlike.ones(3, device="twin:1", requires_grad=True)
    with torchlike.pipeline():
        target = torchlike.zeros(3, device="twin:0")
        target.copy_(leaf * 3)
        target.sum().backward()
    assert leaf.grad.device.index == 1 and leaf.grad.tolist() == [3.0] * 3


@pytest.mark.parametrize("error", [ValueError, Stop])
def test_the_threads_device_comes_back_after_an_error_in_a_flush(twin, error):
    def fail(self):
        assert twins.current() == 1
        raise error

    library = dc.Library("aten", "IMPL", dc.device_key("twin"))
    library.impl("exp", fail, allow_override=True)
    with pytest.raises((dc.PipelineError, Stop)), torchlike.pipeline():
        found = (twin[1] + 1).exp()
        other = twin[0] + 1
    assert twins.current() == 0
    library.close()
    assert other.tolist() == [[2.0] * 3] * 2
    if error is ValueError:
        with pytest.raises(dc.PipelineError):
            found.tolist()


def test_a_planner_sees_a_program_for_each_index():
    seen = []

    def plan(program):
        seen.append(({node.index for node in program.nodes}, twins.current()))

        def run(values):
            assert {node.index for node in program.nodes} == {twins.current()}
            for node in program.nodes:
                node.run(values)

        return [dc.PlannedStep(tuple(range(len(program.nodes))), run)]

    with twins.register(plan=plan):
        x, y = torchlike.ones(3, device="twin:0"), torchlike.ones(3, device="twin:1")
        for _ in range(3):
            with torchlike.pipeline() as pipe:
                first, second = (x + 1) * 2, (y + 1) * 3
        assert seen == [({0}, 0), ({1}, 1)] and pipe.stats().cache_hits == 2
        assert first.tolist() == [4.0] * 3 and second.tolist() == [6.0] * 3
        for _ in range(4):
            with torchlike.pipeline():
                whole = (y * 2 + y).exp().relu()
        assert whole.device.index == 1 and seen[2:] == [({1}, 1)]
        assert not twins.wrong


def test_calls_that_alternate_between_devices_are_planned_device_by_device():
    seen = []

    def plan(program):
        seen.append(({node.index for node in program.nodes}, len(program.nodes)))
        return []

    with twins.register(plan=plan):
        places = [torchlike.device(f"twin:{index}") for index in (0, 1)]
        found = [torchlike.ones(3, device=each) for each in places]
        written = [torchlike.zeros(3, device=each) for each in places]
        with torchlike.pipeline():
            for _ in range(3):
                found = [each * each + each for each in found]
                for target, each in zip(written, found, strict=True):
                    target.mul_(each)
                    target.add_(each)
        assert seen == [({0}, 12), ({1}, 12)] and not twins.wrong
        assert [each.tolist() for each in found] == [[42.0] * 3] * 2
        assert [each.tolist() for each in written] == [[798.0] * 3] * 2
        assert [each.device for each in written] == places


def test_captured_functions_replay_on_the_device_of_their_arguments(twin):
    calls = []

    @torchlike.capture
    def step(x):
        calls.append(x.device.index)
        return (x * 2 + torchlike.ones(3, device=x.device)).exp().sum()

    for each in twin * 5:
        found = step(each)
        assert found.device == each.device and found.item() == pytest.approx((each * 2 + 1).exp().sum().item())
    assert sorted(calls) == [0, 0, 1, 1]
    assert step.stats().replays == 6


def test_captured_factories_follow_the_threads_device(twin):
    @torchlike.capture
    def make():
        return torchlike.ones(3, device="twin") * 2

    for _ in range(4):
        assert make().device.index == 0
        with on(1):
            assert make().device.index == 1


def test_captured_copies_and_refusals(twin):
    x, y = twin

    @torchlike.capture
    def exchange(x, y):
        x.copy_(y * 2)
        return (x + 1).to("twin:1") + y

    for _ in range(5):
        found = exchange(x, y)
        assert found.device.index == 1 and found.tolist() == [[4.0] * 3] * 2 and x.tolist() == [[2.0] * 3] * 2

    @torchlike.capture
    def mix(x, y):
        return x + y

    for _ in range(4):
        with pytest.raises(dc.DeviceMismatchError, match=WORDS):
            mix(x, y)
        assert mix(y, y).device.index == 1


def train(device, mode, steps=4):
    torchlike.manual_seed(3)
    layers = torchlike.nn.Sequential(torchlike.nn.Linear(3, 5), torchlike.nn.Tanh(), torchlike.nn.Linear(5, 2)).to(
        device
    )
    optimizer = torchlike.optim.Adam(layers.parameters(), lr=0.1)
    inputs, labels = torchlike.rand(8, 3).to(device), torchlike.tensor([0, 1] * 4).to(device)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(layers(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    step = torchlike.capture(step) if mode == "captured" else step
    losses = []
    for _ in range(steps):
        if mode == "pipeline":
            with torchlike.pipeline():
                loss = step()
        else:
            loss = step()
        losses.append(loss.item())
    assert {each.device for each in layers.parameters()} == {torchlike.device(device)}
    return losses


@pytest.mark.parametrize("mode", ["eager", "pipeline", "captured"])
def test_training_gives_the_same_on_every_index(twin, mode):
    assert train("twin:0", mode) == train("twin:1", mode) == pytest.approx(train("cpu", "eager"))


@pytest.mark.parametrize("mode", ["eager", "pipeline"])
def test_data_parallel_by_hand_gives_the_gradients_of_one_device(twin, mode):
    torchlike.manual_seed(1)
    whole = torchlike.nn.Linear(3, 2).to("twin:0")
    replicas = [torchlike.nn.Linear(3, 2).to(f"twin:{index}") for index in (0, 1)]
    for each in replicas:
        each.load_state_dict(whole.state_dict())
    inputs = torchlike.rand(8, 3, device="twin:0")
    whole(inputs).pow(2).sum().backward()

    def step():
        for index, (each, part) in enumerate(zip(replicas, inputs.chunk(2), strict=True)):
            each(part.to(f"twin:{index}")).pow(2).sum().backward()
        for own, other in zip(replicas[0].parameters(), replicas[1].parameters(), strict=True):
            own.grad += other.grad.to("twin:0")

    if mode == "pipeline":
        with torchlike.pipeline():
            step()
    else:
        step()
    for one, other in zip(whole.parameters(), replicas[0].parameters(), strict=True):
        assert other.grad.device.index == 0 and torchlike.allclose(one.grad, other.grad)


@pytest.mark.parametrize("records", [False, True])
def test_factories_find_a_device_that_the_backends_own_function_has_chosen(records):
    with twins.register():
        with torchlike.pipeline() if records else nullcontext():
            twins.exchange(1)
            x = torchlike.ones(3, device="twin")
            twins.exchange(0)
            y = torchlike.ones(3, device="twin")
            assert (x.device.index, y.device.index) == (1, 0)
        assert (x.device.index, y.device.index) == (1, 0)
        with pytest.raises(dc.DeviceMismatchError, match=WORDS):
            y + x
        assert not twins.wrong


def test_a_backend_tells_of_a_device_that_it_has_chosen_by_itself():
    with twins.register():
        x = torchlike.ones(3, device="twin")
        dc.note_device("twin:1")
        twins.exchange(1)
        assert (x + 1).device.index == torchlike.zeros_like(x).device.index == 0
        assert twins.current() == 1 and not twins.wrong
