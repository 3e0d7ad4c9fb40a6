"""Arrays on two devices, each of which computes with its own."""

import pytest

import dispatch_core as dc
import torchlike
from dispatch_backend_npu import runtime


@pytest.fixture
def two(npu):
    """Arrays of the devices 0 and 1."""
    if runtime.device_count() < 2:
        pytest.skip("one device only")
    return torchlike.ones(2, 3, device="npu:0"), torchlike.ones(2, 3, device="npu:1")


def test_factories_work_where_they_are_asked_to(two):
    first, second = two
    assert (first.device.index, second.device.index) == (0, 1)
    assert torchlike.npu.current_device() == 0
    assert torchlike.tensor([1.0], device="npu:1").device.index == 1
    assert torchlike.zeros_like(second).device.index == 1
    with torchlike.npu.device(1):
        assert torchlike.zeros(2, device="npu").device.index == 1
    assert torchlike.zeros(2, device="npu").device.index == 0


def test_operators_work_where_their_arrays_lie(two):
    _, second = two
    results = second + second, second.sum(), second @ second.t(), second[0], second.relu_(), torchlike.cat([second])
    assert {result.device.index for result in results} == {1}
    assert results[0].tolist() == [[2.0] * 3] * 2 and results[1].item() == 6.0
    x = torchlike.ones(3, device="npu:1", requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3 and x.grad.device.index == 1


def test_arrays_of_two_devices_are_refused_by_name(two):
    first, second = two
    with pytest.raises(
        dc.DeviceMismatchError, match=r"aten::add\.Tensor: .* found at least two devices, npu:0 and npu:1"
    ):
        first + second
    with pytest.raises(dc.DeviceMismatchError, match="aten::cat"):
        torchlike.cat([second, first])


def test_copies_go_from_one_device_to_another(two):
    first, second = two
    assert second.to("npu:0").device.index == 0 and first.to("npu:1").tolist() == [[1.0] * 3] * 2
    assert second.cpu().device.type == "cpu"
    first.copy_(second * 5)
    assert first.tolist() == [[5.0] * 3] * 2 and first.device.index == 0
    x = torchlike.ones(3, device="npu:1", requires_grad=True)
    x.to("npu:0").sum().backward()
    assert x.grad.device.index == 1


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline copies later")
@pytest.mark.parametrize("reaches", [True, False])
def test_devices_copy_to_each_other_without_a_wait(two, simulator, monkeypatch, reaches):
    first, second = two
    if not reaches:
        monkeypatch.setattr("dispatch_backend_npu.ops.copy.connect", lambda *devices: False)
    values = torchlike.arange(6.0, device="npu:0").reshape(2, 3)
    torchlike.npu.synchronize(0), torchlike.npu.synchronize(1)
    simulator.reset()
    moved = (values + 1).t().to("npu:1"), values[:, ::2].to("npu:1"), second.copy_(values)
    moved += (first.to("npu:1", torchlike.int32),)
    assert reaches == ("aclrtMemcpy" not in simulator.log()) and reaches == ("aclrtMemcpyAsync" in simulator.log())
    assert moved[0].tolist() == [[1, 4], [2, 5], [3, 6]] and moved[0].stride() == (1, 3)
    assert moved[1].tolist() == [[0, 2], [3, 5]] and moved[2].tolist() == values.tolist()
    assert moved[3].tolist() == [[1] * 3] * 2 and {each.device.index for each in moved} == {1}
    assert torchlike.npu.can_device_access_peer(0, 1) and not torchlike.npu.can_device_access_peer(1, 1)


def test_results_of_a_pipeline_lie_on_its_device(two):
    first, second = two
    with torchlike.pipeline():
        results = first + first, second + second
    assert [result.device.index for result in results] == [0, 1]
    assert [result.sum().item() for result in results] == [12.0, 12.0]


def test_a_pending_value_knows_its_device(npu):
    with torchlike.pipeline():
        pending = torchlike.ones(2, device="npu") + 1
        assert pending.device == torchlike.device("npu:0")


def test_pipelines_record_on_several_devices(two):
    first, second = two
    with torchlike.pipeline() as pipe:
        made = [((each * 2 + 1).exp() @ each.t()).relu() for each in (first, second, first + 1, second + 1)]
        assert all(each._pending for each in made) and [each.device.index for each in made] == [0, 1, 0, 1]
        with torchlike.npu.device(1):
            late = torchlike.ones(2, device="npu")
        assert late.device.index == 1
        with pytest.raises(dc.DeviceMismatchError, match=r"npu:0 and npu:1"):
            made[0] + made[1]
        first.copy_(second * 4)
        moved = made[1].to("npu:0") + made[0]
    assert set(pipe.stats().eager) == {("aten::copy_", "it copies between devices")}
    assert [each.device.index for each in (*made, late, moved)] == [0, 1, 0, 1, 1, 0]
    assert first.tolist() == [[4.0] * 3] * 2 and made[0].tolist() == made[1].tolist()
    assert moved.tolist() == (made[0] * 2).tolist()


def train(device, mode):
    torchlike.manual_seed(5)
    layers = torchlike.nn.Sequential(torchlike.nn.Linear(6, 8), torchlike.nn.ReLU(), torchlike.nn.Linear(8, 3)).to(
        device
    )
    optimizer = torchlike.optim.SGD(layers.parameters(), lr=0.2, momentum=0.9)
    inputs, labels = torchlike.rand(12, 6).to(device), torchlike.tensor([0, 1, 2] * 4).to(device)

    def step():
        optimizer.zero_grad()
        loss = torchlike.nn.functional.cross_entropy(layers(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    step = torchlike.capture(step) if mode == "captured" else step
    losses = []
    for _ in range(5):
        if mode == "pipeline":
            with torchlike.pipeline() as pipe:
                loss = step()
            assert loss.device.index == torchlike.device(device).index
            assert pipe.stats().cache_hits + pipe.stats().cache_misses
        else:
            loss = step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("mode", ["eager", "pipeline", "captured"])
def test_training_gives_the_same_on_each_device(two, mode):
    assert train("npu:0", mode) == train("npu:1", mode) == train("npu:0", "eager")


@pytest.mark.parametrize("mode", ["eager", "pipeline"])
def test_data_parallel_by_hand_gives_the_gradients_of_one_device(two, mode):
    torchlike.manual_seed(1)
    whole = torchlike.nn.Linear(4, 2).to("npu:0")
    replicas = [torchlike.nn.Linear(4, 2).to(f"npu:{index}") for index in (0, 1)]
    for each in replicas:
        each.load_state_dict(whole.state_dict())
    inputs = torchlike.rand(8, 4).to("npu:0")
    whole(inputs).pow(2).sum().backward()

    def step():
        for index, (each, part) in enumerate(zip(replicas, inputs.chunk(2), strict=True)):
            each(part.to(f"npu:{index}")).pow(2).sum().backward()
        for own, other in zip(replicas[0].parameters(), replicas[1].parameters(), strict=True):
            own.grad += other.grad.to("npu:0")

    if mode == "pipeline":
        with torchlike.pipeline():
            step()
    else:
        step()
    for one, other in zip(whole.parameters(), replicas[0].parameters(), strict=True):
        assert other.grad.device.index == 0 and torchlike.allclose(one.grad, other.grad)
