"""Chains of views, and writes through them, mean on arrays without strides what they mean on the cpu."""

import abc
import copy
import os
import pickle
from contextlib import nullcontext

import pytest
from view_chains import make_chain, run_chain

import dispatch_core as dc
import torchlike
from torchlike import nn, optim

#: How many chains a test draws; more in a run of its own.
CHAINS = int(os.environ.get("DISPATCH_TEST_CHAINS", "20"))
pytestmark = [pytest.mark.usefixtures("strideless_backend"), pytest.mark.no_pipeline(reason="opens its own")]


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_chains_of_views_with_writes_hold_the_values_of_the_cpu(in_pipeline):
    for seed in range(CHAINS):
        sizes, chain = make_chain(seed)
        expected = run_chain("cpu", sizes, chain)
        with dc.pipeline() if in_pipeline else nullcontext() as pipe:
            found = run_chain("strideless", sizes, chain)
            answers = [(each.stride(), each.storage_offset(), each.is_contiguous()) for each in found]
        assert [each.tolist() for each in found] == [each.tolist() for each in expected], seed
        assert [each._version for each in found] == [each._version for each in expected]
        assert answers == [(torchlike.empty(each.shape).stride(), 0, True) for each in expected], seed
        if in_pipeline:
            assert not pipe.stats().eager, (seed, pipe.stats().eager)


@pytest.mark.parametrize("device", ["cpu", "strideless"])
def test_chains_of_views_hold_the_same_values_without_writes(device):
    for seed in range(CHAINS):
        sizes, chain = make_chain(seed)
        expected = run_chain(device, sizes, chain)
        found = torchlike.func.functionalize(lambda sizes=sizes, chain=chain: run_chain(device, sizes, chain))()
        assert [each.tolist() for each in found] == [each.tolist() for each in expected], seed


def test_copies_between_devices_pass_function_transforms():
    def double(x):
        return (x.to("strideless") * 2).to("cpu")

    x = torchlike.ones(3, 2)
    assert torchlike.func.grad(lambda x: double(x).sum())(x).tolist() == [[2, 2]] * 3
    assert torchlike.func.vmap(double, in_dims=1)(x).tolist() == [[2] * 3] * 2
    assert torchlike.func.functionalize(lambda x: double(x.add_(1)).add_(1))(x).tolist() == [[5, 5]] * 3
    assert x.tolist() == [[2, 2]] * 3


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_gradients_through_chains_are_those_of_the_cpu(in_pipeline):
    for seed in range(CHAINS // 2):
        sizes, chain = make_chain(seed + 1000)
        grads = []
        for device in ("cpu", "strideless"):
            leaf = torchlike.full((), 1.5).to(device).requires_grad_()
            with dc.pipeline() if in_pipeline and device != "cpu" else nullcontext():
                try:
                    held = run_chain(device, sizes, chain, leaf)
                    loss = sum(((place + 1) * each * each).sum() for place, each in enumerate(held))
                    loss.backward()
                except RuntimeError as error:  # parts of a split and unbind take no writes that are recorded
                    grads.append(str(error))
                else:
                    grads.append((loss.item(), leaf.grad.item()))
        assert grads[0] == grads[1], seed


def test_copies_of_aliases_are_aliases():
    for seed in range(20):
        sizes, chain = make_chain(seed + 2000)
        held, expected = run_chain("strideless", sizes, chain), run_chain("cpu", sizes, chain)
        before = [each.tolist() for each in held]
        copies = copy.deepcopy(held)
        assert [each.tolist() for each in copies] == before
        copies[2].add_(1)
        expected[2].add_(1)
        assert [each.tolist() for each in copies] == [each.tolist() for each in expected], seed
        assert [each.tolist() for each in held] == before
        assert pickle.loads(pickle.dumps(held[-1])).tolist() == before[-1]


def test_as_strided_is_for_elements_that_lie_in_order():
    x = torchlike.arange(6.0).view(2, 3).to("strideless")
    assert x.view(6).detach().as_strided((2, 2), (1, 2), 1).tolist() == [[1, 3], [2, 4]]
    x.as_strided((3,), (2,)).zero_()
    assert x.tolist() == [[0, 1, 0], [3, 0, 5]]
    for view in (x.t(), x[1], x[:, 1:], x.expand(2, 2, 3)):
        with pytest.raises(RuntimeError, match="arrays on strideless have no strides"):
            view.as_strided((2,), (1,))
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 24"):
        x.as_strided((2, 4), (4, 1))
    assert x.tolist() == [[0, 1, 0], [3, 0, 5]]
    assert x.t().clone().as_strided((2,), (1,)).tolist() == [0, 3]


def test_the_storage_of_a_view_is_that_of_its_base():
    x = torchlike.arange(6.0).view(2, 3).to("strideless")
    assert x[1].storage().tolist() == x.t().storage().tolist() == [0, 1, 2, 3, 4, 5]
    assert x[1].untyped_storage().nbytes() == 24


def test_view_takes_what_reshape_takes_and_is_an_alias():
    x = torchlike.arange(6.0).view(2, 3).to("strideless")
    flat = x.t().view(-1)
    assert flat._base is not None and flat.tolist() == [0, 3, 1, 4, 2, 5]
    flat[1] = 10
    assert x.tolist() == [[0, 1, 2], [10, 4, 5]]
    assert x.t().contiguous() is not x and x.t().is_contiguous()


def test_expanded_tensors_are_written_as_on_the_cpu():
    for device in ("cpu", "strideless"):
        x = torchlike.arange(3.0).to(device).view(3, 1)
        wide = x.expand(2, 3, 4)
        wide.reshape(-1).add_(1)
        assert x.flatten().tolist() == [0, 1, 2]
        wide.fill_(7)
        assert x.flatten().tolist() == [7, 7, 7] and wide.sum().item() == 168
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single"):
            wide.add_(1)
        assert x.flatten().tolist() == [7, 7, 7]


def test_a_network_trains():
    def train(device):
        torchlike.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 3))
        net = net.to(device)
        optimizer = optim.Adam(net.parameters(), lr=0.05)
        x, target = torchlike.rand(8, 1, 4, 4).to(device), torchlike.randint(0, 3, (8,)).to(device)
        losses = []
        for _ in range(6):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    expected = train("cpu")
    assert expected[-1] < expected[0]
    assert train("strideless") == pytest.approx(expected, rel=1e-4)


def test_a_kernel_for_several_views_is_refused_for_it_tells_no_places():
    x = torchlike.arange(6.0).to("strideless")
    with dc.Library("aten", "IMPL", "Strideless") as library:
        library.impl("split.Tensor", lambda self, size, dim: [dc.ops.prims.slice(self, 0, 0, size, 1)] * 2)
        with pytest.raises(dc.KernelResultError, match=r"aten::split.Tensor: .* which do not tell where"):
            x.split(3)
    assert [each.tolist() for each in x.split(3)] == [[0, 1, 2], [3, 4, 5]]


class Abstract(metaclass=abc.ABCMeta):  # noqa: B024  # classes are registered with it
    """Represents arrays of several classes."""


class Registered:
    value = 3.0


class Instance:
    """Is no subclass; its instances say that they are instances."""

    value = 4.0
    __class__ = property(lambda self: Abstract)


def test_array_types_match_registered_classes_and_instances():
    Abstract.register(Registered)
    array = dc.ArrayType(
        Abstract, shape=lambda x: (), dtype=lambda x: torchlike.float64, mutable=False, subclasses=True
    )
    with dc.register_backend(dc.BackendInfo("abstract", array_types=(array,)), {}):
        with dc.Library("aten", "IMPL", "Abstract") as library:
            library.impl("exp", lambda self: Registered())
            for each in (Registered(), Instance()):
                assert dc.device(each) == dc.Device("abstract") and dc.shape(each) == ()
                assert isinstance(dc.ops.aten.exp(each), Registered)
        with pytest.raises(dc.DispatchError):
            dc.device(object())
    with pytest.raises(dc.DispatchError):
        dc.device(Registered())


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_tensors_that_become_views_share_what_they_show(in_pipeline):
    def run(device):
        def make(start=0.0):
            return (torchlike.arange(6.0) + start).view(2, 3).to(device, copy=True)

        a, b, c, d, e, f = (make(10.0 * number) for number in range(6))
        row, flat = a[0], a.view(6)
        a.t_().mul_(2)
        a.unsqueeze_(1)[2].add_(1)
        part = b[1]
        part.unsqueeze_(0).zero_()
        b.transpose_(0, 1)[0].fill_(9)
        other = torchlike.empty(0, device=device)
        other.set_(c[1]).add_(1)
        d.data.add_(1)
        d.detach()[1].mul_(2)
        parameter = nn.Parameter(e)
        before = parameter.data[0]
        parameter.data = f
        parameter.data[1].zero_()
        f[0].add_(1)
        e.mul_(3)
        found = [a, row, flat, b, part, other, c, d, parameter, before, e, f]
        return [each.detach() for each in found], [each._version for each in (a, b, c, d, parameter)]

    expected, versions = run("cpu")
    with dc.pipeline() if in_pipeline else nullcontext():
        found, counted = run("strideless")
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    assert counted == versions


def test_aliases_that_are_gone_are_forgotten():
    x = torchlike.zeros(2, 3).to("strideless")
    kept = [x.t() for _ in range(20)]
    for _ in range(500):
        x.t()
    assert len(x._state.storage.aliases.members) <= 64
    x.add_(1)
    assert all(each.sum().item() == 6 for each in kept)


def test_frames_have_gradients():
    grads = []
    for device in ("cpu", "strideless"):
        signal = torchlike.linspace(0, 1, 16).to(device).requires_grad_()
        torchlike.stft(signal, 8, 4, return_complex=True, window=torchlike.ones(8).to(device)).abs().sum().backward()
        grads.append(signal.grad.cpu())
    torchlike.testing.assert_close(*grads)
