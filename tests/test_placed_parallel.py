"""Modules parallelized over several processes by torch's names train as on one device."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest
from ranks_in_threads import run_ranks
from test_placed_tensors import full, place
from test_placed_training import MLP, Block, train

import torchlike as torch
from torchlike.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torchlike.distributed.tensor import DeviceMesh, DTensor, Replicate, Shard, distribute_tensor
from torchlike.distributed.tensor.debug import CommDebugMode
from torchlike.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torchlike.utils.checkpoint import checkpoint


def batches_for(net: type) -> Any:
    torch.manual_seed(5)
    made = []
    for _ in range(3):
        x = torch.randn(8, 6, dtype=torch.float64) if net is MLP else torch.randint(0, 10, (8, 6))
        made.append((x, torch.randint(0, 4, (8,))))
    return made


def close(model: Any, single: Any, losses: Any, expected: Any) -> None:
    np.testing.assert_allclose(losses, expected, 1e-12, 1e-12)
    for (name, one), other in zip(model.named_parameters(), single.parameters(), strict=True):
        np.testing.assert_allclose(full(one.detach()).numpy(), other.detach().numpy(), 1e-10, 1e-11, err_msg=name)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_column_and_row_parallel_modules(kind: str) -> None:
    torch.manual_seed(0)
    model, data = MLP().double(), batches_for(MLP)
    single = copy.deepcopy(model)
    expected = train(single, data, kind)

    def run(mesh: DeviceMesh) -> None:
        made = parallelize_module(copy.deepcopy(model), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
        assert made.up.weight.placements == (Shard(0),) and made.down.weight.placements == (Shard(1),)
        close(made, single, train(made, data, kind), expected)

    run_ranks((2,), run)


def test_a_transformers_block_by_heads_and_by_sequence() -> None:
    torch.manual_seed(0)
    model, data = Block().double(), batches_for(Block)
    single = copy.deepcopy(model)
    expected = train(single, data, "Adam")
    plan = {
        "tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()),
        **{name: ColwiseParallel(use_local_output=False) for name in ("query", "key", "value", "up")},
        **{name: RowwiseParallel(use_local_output=False) for name in ("out", "down")},
        **{name: SequenceParallel(use_local_output=False) for name in ("first", "second")},
        "head": ColwiseParallel(output_layouts=Replicate(), use_local_output=False),
    }

    def run(mesh: DeviceMesh) -> None:
        made = copy.deepcopy(model)
        plan["tokens"] = RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate(), use_local_output=False)
        made = parallelize_module(made, mesh, plan)
        there = [(place(x, mesh, [Replicate()]), place(y, mesh, [Replicate()])) for x, y in data]
        close(made, single, train(made, there, "Adam"), expected)

    run_ranks((2,), run)


@pytest.mark.parametrize("net", [MLP, Block])
def test_fully_sharded_modules(net: type) -> None:
    torch.manual_seed(0)
    model, data = net().double(), batches_for(net)
    single = copy.deepcopy(model)
    expected = train(single, data, "Adam")

    def run(mesh: DeviceMesh) -> None:
        made = copy.deepcopy(model)
        fully_shard(made, mesh=mesh)
        rank, count = mesh.get_rank(), mesh.size()
        parts = [(x.chunk(count)[rank], y.chunk(count)[rank]) for x, y in data]
        losses = train(made, parts, "Adam")
        for (name, one), other in zip(made.named_parameters(), single.parameters(), strict=True):
            np.testing.assert_allclose(full(one.detach()).numpy(), other.detach().numpy(), 1e-10, 1e-11, err_msg=name)
        return losses

    found = run_ranks((2,), run)
    np.testing.assert_allclose(np.mean(found, 0), expected, 1e-12)


@pytest.mark.parametrize(("shape", "data"), [((2, 2), ("data",)), ((2, 2, 2), ("outer", "data"))])
def test_a_module_that_is_cut_by_columns_is_fully_sharded_along_another_part_of_the_mesh(shape: Any, data: Any) -> None:
    torch.manual_seed(0)
    model, batches = MLP().double(), batches_for(MLP)
    single = copy.deepcopy(model)
    expected = train(single, batches, "Adam")

    def run(mesh: DeviceMesh) -> Any:
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        made = parallelize_module(copy.deepcopy(model), mesh["model"], plan)
        fully_shard(made, mesh=mesh[data])
        assert made.up.weight.device_mesh == mesh and made.up.weight.placements[-2:] == (Shard(1), Shard(0))
        along = [mesh[name] for name in data]
        rank = sum(each.get_local_rank() * 2**place for place, each in enumerate(reversed(along)))
        count = 2 ** len(along)
        losses = train(made, [(x.chunk(count)[rank], y.chunk(count)[rank]) for x, y in batches], "Adam")
        for (name, one), other in zip(made.named_parameters(), single.parameters(), strict=True):
            np.testing.assert_allclose(full(one.detach()).numpy(), other.detach().numpy(), 1e-10, 1e-11, err_msg=name)
        return losses

    np.testing.assert_allclose(np.mean(run_ranks(shape, run, (*data, "model")), 0), expected, 1e-12)


def test_a_parameter_on_another_mesh_is_not_fully_sharded() -> None:
    def run(mesh: DeviceMesh) -> None:
        linear = parallelize_module(torch.nn.Linear(4, 4), mesh["model"], ColwiseParallel())
        with pytest.raises(ValueError, match="no part of the mesh"):
            fully_shard(linear, mesh=type(mesh)([[0, 1], [2, 3]], mesh.get_rank(), ("a", "b"))["a"])

    run_ranks((2, 2), run, ("data", "model"))


def test_modules_without_numbers_are_cut_and_filled_afterwards() -> None:
    def run(mesh: DeviceMesh) -> None:
        with torch.device("meta"):
            model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
        parallelize_module(model, mesh["model"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
        fully_shard(model, mesh=mesh["data"])
        assert model[0].weight.is_meta and model[0].weight.placements == (Shard(1), Shard(0))
        model.to_empty(device="cpu")
        for each in model.parameters():
            torch.nn.init.ones_(each)
        assert model[0].weight.to_local().shape == (3, 2) and not model[0].weight.is_meta
        assert model(torch.ones(1, 4)).tolist() == [[31.0, 31.0]]

    run_ranks((2, 2), run, ("data", "model"))


def test_plans_and_modules_of_another_kind_are_refused() -> None:
    def run(mesh: DeviceMesh) -> None:
        with pytest.raises(TypeError, match="Expect a ParallelStyle for '0' in parallelize_plan"):
            parallelize_module(torch.nn.Sequential(torch.nn.Linear(2, 2)), mesh, {"0": "colwise"})
        with pytest.raises(TypeError, match="expects a module or a list of modules, not int"):
            fully_shard(3, mesh=mesh)
        net = fully_shard(torch.nn.Linear(2, 2), mesh=mesh)
        net.unshard(async_op=True).wait()
        assert type(net.weight) is torch.Tensor

    run_ranks((1,), run)


class Counted(torch.nn.Module):
    """A linear map with tanh, that counts how often it is computed."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.count = torch.nn.Linear(4, 4), 0

    def forward(self, x: Any) -> Any:
        self.count += 1
        return self.linear(x).tanh()


class Checkpointed(torch.nn.Module):
    """Maps that are computed again in backward, by the module around them or by themselves."""

    def __init__(self, place: str, reentrant: bool) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([Counted(), Counted()])
        self.place, self.reentrant = place, reentrant
        for each in self.blocks if place == "inside" else ():
            each.forward = partial(checkpoint, each.forward, use_reentrant=reentrant)

    def forward(self, x: Any) -> Any:
        call = partial(checkpoint, use_reentrant=self.reentrant) if self.place == "outside" else lambda each, x: each(x)
        first, second = self.blocks
        x = call(second, call(first, x))
        return call(first, x) + call(first, x * 2) * call(second, x)  # parameters that are used several times


@pytest.mark.parametrize(("is_nested", "reshards"), [(False, True), (False, False), (True, True), (True, False)])
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("place", ["inside", "outside"])
def test_parts_of_sharded_modules_are_computed_again(
    place: str, reentrant: bool, is_nested: bool, reshards: bool
) -> None:
    torch.manual_seed(0)
    x, single = torch.randn(4, 4).double(), Checkpointed("nowhere", False).double()
    (single(x) ** 2).sum().backward()

    def run(mesh: DeviceMesh) -> None:
        made = Checkpointed(place, reentrant).double()
        made.load_state_dict(single.state_dict())
        for each in made.blocks if is_nested else ():
            fully_shard(each, mesh=mesh, reshard_after_forward=reshards)
        fully_shard(made, mesh=mesh, reshard_after_forward=reshards)
        part = x.chunk(2)[mesh.get_rank()].clone().requires_grad_()
        for _ in range(2):
            made.zero_grad()
            (made(part) ** 2).sum().backward()
            for one, other in zip(made.parameters(), single.parameters(), strict=True):
                np.testing.assert_allclose(full(one.grad).numpy() * 2, other.grad.numpy(), 1e-10, 1e-12)
        assert [each.count for each in made.blocks] == [12, 8]
        assert all(isinstance(each, DTensor) for each in made.parameters())

    run_ranks((2,), run)


def test_a_backward_that_fails_leaves_no_old_parameters() -> None:
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise ZeroDivisionError

    def run(mesh: DeviceMesh) -> None:
        made = fully_shard(torch.nn.Linear(4, 4), mesh=mesh)
        with pytest.raises(ZeroDivisionError):
            made(Failing.apply(torch.ones(2, 4, requires_grad=True) * 2)).sum().backward()
        for each in made.parameters() if isinstance(made.weight, DTensor) else made._fsdp._sharded.values():
            with torch.no_grad():
                each.zero_()
        assert made(torch.ones(2, 4)).eq(0).all()
        assert isinstance(made.weight, DTensor)

    run_ranks((2,), run)


def test_gradients_of_gradients_of_sharded_modules() -> None:
    torch.manual_seed(0)
    x, single = (
        torch.randn(4, 4).double(),
        torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)),
    )
    single.double()

    def learn(net: Any, x: Any) -> Any:
        x = x.clone().requires_grad_()
        (slopes,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        (slopes**2).sum().backward()
        return slopes

    expected = learn(single, x)

    def run(mesh: DeviceMesh) -> None:
        made = copy.deepcopy(single)
        made.zero_grad()
        fully_shard(made[0], mesh=mesh)
        fully_shard(made, mesh=mesh)
        rank = mesh.get_rank()
        found = learn(made, x.chunk(2)[rank])
        np.testing.assert_allclose(found.detach().numpy(), expected.chunk(2)[rank].detach().numpy(), 1e-10, 1e-12)
        for one, other in zip(made.parameters(), single.parameters(), strict=True):
            if other.grad is not None:
                np.testing.assert_allclose(full(one.grad).numpy() * 2, other.grad.numpy(), 1e-10, 1e-12)

    run_ranks((2,), run)


class Encoder(torch.nn.Module):
    """A network with another method than ``forward``."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)

    def encode(self, x: Any) -> Any:
        return self.inner(x).tanh()

    def forward(self, x: Any) -> Any:
        return self.outer(self.encode(x))


def test_other_methods_and_other_divisors() -> None:
    torch.manual_seed(0)
    single, x = Encoder().double(), torch.randn(4, 3).double()

    def run(mesh: DeviceMesh) -> None:
        made, other = copy.deepcopy(single), copy.deepcopy(single)
        fully_shard(made, mesh=mesh)
        with pytest.raises(ValueError, match="does not have a method decode"):
            register_fsdp_forward_method(made, "decode")
        with pytest.raises(ValueError, match="has taken this FSDPEncoder already"):
            fully_shard(made, mesh=mesh)
        register_fsdp_forward_method(made, "encode")
        register_fsdp_forward_method(other, "encode")  # nothing has taken it
        part = x.chunk(2)[mesh.get_rank()]
        made.set_gradient_divide_factor(1.0)
        made.set_reshard_after_backward(False)
        for number in range(2):
            made.set_requires_gradient_sync(number == 1)
            made(part).sum().backward()
        made.encode(part).sum().backward()
        (2 * other(x).sum() + other.encode(x).sum()).backward()
        for one, two in zip(made.parameters(), other.parameters(), strict=True):
            np.testing.assert_allclose(full(one.grad).numpy(), two.grad.numpy(), 1e-10, 1e-12)

    run_ranks((2,), run)


def test_collectives_are_counted() -> None:
    def run(mesh: DeviceMesh) -> None:
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        made, ops = parallelize_module(MLP(), mesh, plan), torch.ops.dispatch
        x = torch.randn(4, made.up.in_features, requires_grad=True)
        with CommDebugMode() as outer:
            with CommDebugMode() as inner:
                loss = made(x).sum()
            assert inner.get_comm_counts() == {ops.all_reduce: 1}
            assert inner.get_total_counts() == 1
            assert inner.get_comm_counts()[ops.all_gather] == 0
            loss.backward()
        assert outer.get_total_counts() == 2
        shared = fully_shard(torch.nn.Linear(4, 4), mesh=mesh)
        with inner:
            shared(torch.ones(2, 4)).sum().backward()
        counts = inner.get_comm_counts()
        assert counts[ops.reduce_scatter] == 2
        assert counts[ops.all_gather] == 4  # in forward, and again in backward
        shared(torch.ones(2, 4))
        assert inner.get_comm_counts() == counts

    run_ranks((2,), run)


def test_tensors_in_parts_on_another_device() -> None:
    def run(mesh: DeviceMesh) -> None:
        x = distribute_tensor(torch.arange(8.0).reshape(4, 2), mesh, [Shard(0)])
        hollow = x.to("meta")
        for each in (
            hollow,
            torch.empty_like(x, device="meta"),
            torch.zeros_like(hollow),
            x.new_ones((4, 2), device="meta"),
        ):
            assert isinstance(each, DTensor) and each.is_meta and each.device.type == "meta"
            assert each.to_local().shape == (2, 2) and each.shape == (4, 2)
        assert (hollow + 1).is_meta and (hollow + 1).placements == (Shard(0),)
        filled = torch.full_like(hollow, 2.0, device="cpu")
        assert isinstance(filled, DTensor) and filled.to_local().tolist() == [[2.0, 2.0], [2.0, 2.0]]
        assert torch.empty_like(hollow, device="cpu").copy_(x).sum().full_tensor().item() == 28
        assert isinstance(x.to("cpu", torch.float64), DTensor)

    run_ranks((2,), run)
