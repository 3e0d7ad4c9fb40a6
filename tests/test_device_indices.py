"""Devices of one type with several indices: the core refuses mixtures, and runs kernels where their arrays lie."""

import threading

import numpy as np
import paired_devices as twins
import pytest
from mixed_indices import MIXTURES, WORDS, WRITES, Stop

import dispatch_core as dc
import torchlike
from dispatch_core.runtime import guards


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


@pytest.mark.parametrize("name", [*MIXTURES, *WRITES])
@pytest.mark.parametrize("turned", [False, True])
def test_tensors_on_two_indices_are_refused_as_of_two_types(twin, name, turned):
    x, y = reversed(twin) if turned else twin
    with pytest.raises(dc.DeviceMismatchError, match=WORDS):
        {**MIXTURES, **WRITES}[name](x, y)
    assert x.tolist() == y.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("name", [*MIXTURES, *WRITES])
def test_tensors_with_a_history_are_refused_and_none_is_recorded(twin, name):
    x, y = (each.clone().requires_grad_() * 1 for each in twin)
    with pytest.raises(dc.DeviceMismatchError, match=WORDS):
        {**MIXTURES, **WRITES}[name](x, y)
    x.sum().backward()
    assert x.tolist() == [[1.0] * 3] * 2


def test_raw_arrays_are_refused_too(twin):
    x, y = (each._dispatch_data for each in twin)
    with pytest.raises(dc.DeviceMismatchError, match=WORDS):
        dc.ops.aten.add(x, y)
    with pytest.raises(dc.DeviceMismatchError, match=WORDS):
        dc.ops.aten.add.out(x, x, out=y)
    assert dc.ops.aten.copy_(x, dc.ops.aten.add(y, y)) is x and x.array.tolist() == [[2.0] * 3] * 2


def test_cpu_tensors_without_dimensions_are_numbers_on_every_index(twin):
    for x in twin:
        number = torchlike.tensor(2.0)
        assert (x + number).device == x.device and (number * x).sum().item() == 12.0
        assert torchlike.where(x > 0, number, x).device == x.device
        assert x.clone().mul_(number).tolist() == [[2.0] * 3] * 2
        with pytest.raises(dc.DeviceMismatchError, match="cpu and twin:"):
            x + torchlike.ones(3)


def test_copies_go_from_one_index_to_the_other(twin):
    x, y = twin
    y *= 3
    assert x.copy_(y) is x and x.device.index == 0 and x.tolist() == [[3.0] * 3] * 2
    x[0] = y[0] + 1
    assert x.tolist() == [[4.0] * 3, [3.0] * 3]
    moved = x.to("twin:1")
    assert moved.device.index == 1 and moved.tolist() == x.tolist()
    assert x.to("twin:0") is x and y.to("twin").device.index == 0
    assert y.to(x).device == y.type_as(x).device == x.device
    assert x.to("twin:1", torchlike.float64).dtype is torchlike.float64
    assert y.cpu().tolist() == [[3.0] * 3] * 2
    x.t().copy_(y.t() * 2)
    assert x.tolist() == [[6.0] * 3] * 2


def test_gradients_of_copies_come_back_to_where_the_tensor_lies(twin):
    x = torchlike.ones(3, device="twin:1", requires_grad=True)
    (x.to("twin:0") * 2).sum().backward()
    assert x.grad.device.index == 1 and x.grad.tolist() == [2.0] * 3
    x.grad, target = None, torchlike.zeros(3, device="twin:0")
    target.copy_(x * 3)
    target.sum().backward()
    assert x.grad.device.index == 1 and x.grad.tolist() == [3.0] * 3


def test_operators_that_treat_each_tensor_by_itself_go_ahead(twin):
    x, y = twin
    assert x[:1].expand_as(y).device == x.device and x.view_as(y).device == x.device
    assert x.reshape_as(y).shape == y.shape and x.is_same_size(y)
    assert [each.device for each in torchlike.broadcast_tensors(x, y[0])] == [x.device, y.device]
    assert [each.device for each in torchlike.atleast_3d(x, y)] == [x.device, y.device]
    assert [each.device for each in torchlike._foreach_add([x, y], [x, y])] == [x.device, y.device]


def test_factories_work_where_they_are_asked_to(twin):
    x, y = twin
    for like in (
        torchlike.zeros_like,
        torchlike.empty_like,
        torchlike.rand_like,
        lambda each: torchlike.full_like(each, 2),
    ):
        assert [like(each).device for each in twin] == [x.device, y.device]
        assert like(x + 0).device == x.device
    assert torchlike.zeros_like(y, device="twin:0").device == x.device
    assert torchlike.ones_like(x, device="twin:1").tolist() == [[1.0] * 3] * 2
    for new in ("new_zeros", "new_ones", "new_empty"):
        assert getattr(y, new)((2,)).device == y.device and getattr(y, new)((2,), device="twin:0").device == x.device
    assert y.new_tensor([1.0]).device == y.device
    for make in (torchlike.ones, torchlike.rand, torchlike.arange, torchlike.eye):
        assert make(3, device="twin:1").device == y.device and make(3, device="twin").device == x.device
    assert torchlike.tensor([1.0], device="twin:1").device == y.device
    with dc.Device("twin:1"):
        assert torchlike.linspace(0, 1, 3).device == y.device


def test_factories_without_an_index_work_on_the_threads_device(twin):
    with guards.OnDevice(guards.find_interface("twin"), 1):
        assert torchlike.ones(3, device="twin").device.index == 1
        assert torchlike.zeros_like(twin[0], device="twin").device.index == 1
        assert torchlike.zeros_like(twin[0]).device.index == 0
        assert twin[0].to("twin").device.index == 1
        assert (twin[0] + 1).device.index == 0
    assert torchlike.ones(3, device="twin").device.index == 0


@pytest.mark.parametrize("error", [ValueError, Stop])
def test_the_threads_device_comes_back_after_an_error(twin, error):
    def fail(self):
        assert twins.current() == 1
        raise error

    library = dc.Library("aten", "IMPL", dc.device_key("twin"))
    library.impl("exp", fail, allow_override=True)
    with pytest.raises(error):
        torchlike.exp(twin[1])
    assert twins.current() == 0
    library.close()


def test_threads_have_devices_of_their_own(twin):
    found = {}
    barrier = threading.Barrier(2)

    def work(index):
        x = twin[index]
        twins.exchange(index)
        barrier.wait()
        for _ in range(50):
            x = (x * 1.0 + 0) @ torchlike.eye(3, device=x.device)
            assert twins.current() == index
        found[index] = x.device.index, torchlike.ones(1, device="twin").device.index, twin[1 - index].sum().item()

    threads = [threading.Thread(target=work, args=(index,)) for index in (0, 1)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {0: (0, 0, 6.0), 1: (1, 1, 6.0)}


def test_modules_are_refused_input_on_another_index(twin):
    x, y = twin
    layers = torchlike.nn.Sequential(torchlike.nn.Linear(3, 4), torchlike.nn.ReLU(), torchlike.nn.Linear(4, 1)).to(
        "twin:1"
    )
    with pytest.raises(dc.DeviceMismatchError, match=WORDS):
        layers(x)
    layers(y).sum().backward()
    assert {each.grad.device.index for each in layers.parameters()} == {1}


def test_a_device_with_one_index_in_use_is_not_looked_at():
    asked = []

    def device_index(array):
        asked.append(array)
        return array.index

    from dispatch_core._record import replace

    info = dc.BackendInfo("twin", array_types=(replace(twins.TWINS, device_index=device_index),))
    interface = dc.DeviceInterface(current=twins.current, exchange=lambda index: pytest.fail("exchanged"))
    with dc.register_backend(info, twins.make_kernels(), device_interface=lambda: interface):
        x = torchlike.ones(2, 3, device="twin")
        y = (x + x).exp() @ torchlike.eye(3, device="twin")
        y.copy_(x)
        assert not asked
        assert x.device.index == 0 and asked


def test_an_array_without_an_index_fits_every_index(twin):
    anywhere = twins.Twin(np.full((2, 3), 2.0, "float32"))
    anywhere.index = None
    for each in twin:
        raw = dc.ops.aten.atan2(each._dispatch_data, anywhere)
        assert raw.index == each.device.index
    twins.wrong[:] = [each for each in twins.wrong if None not in each[1]]


def test_a_copy_of_the_devices_own_takes_both_arrays():
    seen = []

    @dc.KernelTraits(crosses_devices=True)
    def copy_(self, src, non_blocking=False):
        seen.append((self.index, src.index, twins.current()))
        self.array[...] = src.array
        return self

    with twins.register({**twins.make_kernels(), "copy_": copy_}):
        x, y = torchlike.ones(2, device="twin:0"), torchlike.zeros(2, device="twin:1")
        seen.clear()
        x.copy_(y)
        assert seen == [(0, 1, 0)] and x.tolist() == [0.0, 0.0]
        seen.clear()
        y.copy_(x + 1)
        assert seen == [(1, 0, 1)]


def test_closing_the_device_forgets_its_indices():
    for _ in range(2):
        with twins.register():
            x = torchlike.ones(2, device="twin:1")
            with pytest.raises(dc.DeviceMismatchError):
                x + torchlike.ones(2, device="twin:0")


def test_an_explanation_says_where_a_call_runs_and_when_it_is_refused(twin):
    x, y = (each._dispatch_data for each in twin)
    assert "it runs on that with index 1, where its arrays lie" in str(dc.explain("aten::add.Tensor", y, y))
    found = dc.explain("aten::add.Tensor", x, y)
    with pytest.raises(dc.DeviceMismatchError) as caught:
        dc.ops.aten.add(x, y)
    assert str(found.error) == str(caught.value)
    assert "their frontend decides" in str(dc.explain("aten::add.Tensor", *twin))
    assert dc.explain("aten::copy_", x, y).error is None


def test_kernels_for_sets_of_types_get_arrays_of_one_device(twin):
    x, y = (each._dispatch_data for each in twin)
    number = np.ones(3, "float32")
    with dc.Library("mixture", "DEF") as library:
        library.define("join(Tensor a, Tensor b, Tensor c) -> Tensor")
        library.impl("join", lambda a, b, c: twins.Twin(np.zeros(1)), types=(twins.Twin, np.ndarray))
        join = dc.ops.mixture.join
        assert [join(*each).index for each in ((number, y, number), (x, x, number), (y, y, y))] == [1, 0, 1]
        for mixed in ((x, y, number), (x, y, x), (number, y, x)):
            with pytest.raises(dc.DeviceMismatchError, match="mixture::join: " + WORDS):
                join(*mixed)
