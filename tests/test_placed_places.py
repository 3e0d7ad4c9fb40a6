"""Tensors over several processes as tensors: moved, taken apart, drawn, copied, saved, printed, and what is refused."""

from __future__ import annotations

import contextvars
import copy
import io
import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from ranks_in_threads import ENGINE, ThreadMesh, run_ranks
from test_placed_tensors import full, lay, place

import dispatch_core as dc
import torchlike as torch
from dispatch_aten.placements import DeviceMesh as Mesh
from dispatch_aten.placements import PlacementError, placement_of
from torchlike.distributed.placed import gathers, set_gather_limit
from torchlike.distributed.tensor import DeviceMesh, DTensor, Partial, Replicate, Shard, distribute_tensor

redistribute, to_local, from_local = torch.ops.dispatch.redistribute, DTensor.to_local, DTensor.from_local
ALONE = ThreadMesh([0], 0)


def same(x: Any, y: Any) -> bool:
    return bool(np.array_equal(full(x.detach()).numpy(), y.detach().numpy()))


@pytest.mark.parametrize("shape", [(2,), (3,), (4,), (2, 2), (3, 2)])
def test_a_tensor_is_moved_between_all_placements_and_gradients_are_moved_back(shape: tuple[int, ...]) -> None:
    x = torch.arange(35.0, dtype=torch.float64).reshape(5, 7)
    kinds: list[Any] = [Replicate(), Shard(0), Shard(1), Partial()]
    sources = [*itertools.product(kinds, repeat=len(shape))]
    targets = [*itertools.product(kinds[:-1], repeat=len(shape))]

    def run(mesh: DeviceMesh) -> None:
        for source in sources:
            placed = lay(x, mesh, source)
            placed.requires_grad_()
            for target in targets:
                found = redistribute(placed, mesh, target)
                assert placement_of(found) == (mesh, target)
                spec = found._dispatch_data.spec
                assert tuple(to_local(found).shape) == spec.local_size
                np.testing.assert_allclose(full(found.detach()).numpy(), x.numpy(), 1e-12)
                placed.grad = None
                (found * found).sum().backward()
                np.testing.assert_allclose(full(placed.grad).numpy(), 2 * x.numpy(), 1e-12)

    run_ranks(shape, run)


def test_only_the_move_that_is_needed_is_made() -> None:
    x = torch.randn(4, 6)
    moves = {
        (Shard(0), Replicate()): "all_gather",
        (Partial(), Replicate()): "all_reduce",
        (Partial(), Shard(1)): "reduce_scatter",
        (Shard(0), Shard(1)): "exchange",
        (Replicate(), Shard(0)): "",
        (Shard(0), Shard(0)): "",
    }

    def run(mesh: DeviceMesh) -> None:
        for (source, target), name in moves.items():
            placed = lay(x, mesh, [source])
            before = len(ENGINE.calls)
            redistribute(placed, mesh, [target])
            if not mesh.get_rank():
                assert ENGINE.calls[before:] == ([name] if name else [])

    run_ranks((2,), run)


def test_parts_are_those_of_chunk_and_may_be_empty() -> None:
    x = torch.arange(10.0).reshape(5, 2)

    def run(mesh: DeviceMesh) -> Any:
        return to_local(place(x, mesh, [Shard(0)])).numpy()

    found = run_ranks((4,), run)
    for one, other in itertools.zip_longest(found, x.chunk(4), fillvalue=torch.zeros(0, 2)):
        np.testing.assert_array_equal(one, other.numpy())


def test_a_tensor_is_that_of_the_first_process() -> None:
    def run(mesh: DeviceMesh) -> Any:
        mine = torch.full((4, 2), float(mesh.get_rank()))
        return full(distribute_tensor(mine, mesh, [Shard(0)] * mesh.ndim)).numpy()

    for each in (*run_ranks((2,), run), *run_ranks((2, 2), run)):
        np.testing.assert_array_equal(each, np.zeros((4, 2)))


def test_parts_have_gradients_in_both_directions() -> None:
    def run(mesh: DeviceMesh) -> None:
        x = torch.full((2, 3), float(mesh.get_rank() + 1), requires_grad=True)
        whole = from_local(x, mesh, [Shard(0)])
        assert whole.shape == (4, 3)
        (whole * torch.ones_like(whole).cumsum(0)).sum().backward()
        expected = np.repeat(np.arange(1.0, 5.0)[:, None], 3, 1)[2 * mesh.get_rank() :][:2]
        np.testing.assert_array_equal(x.grad.numpy(), expected)
        total = torch.ones(3, requires_grad=True)
        from_local(total, mesh, [Partial()]).sum().backward()
        np.testing.assert_array_equal(total.grad.numpy(), np.ones(3))
        placed = place(torch.ones(4, 3), mesh, [Shard(0)]).requires_grad_()
        (to_local(placed) * (mesh.get_rank() + 1)).sum().backward()
        assert placement_of(placed.grad) == (mesh, (Shard(0),))
        np.testing.assert_array_equal(to_local(placed.grad).numpy(), np.full((2, 3), mesh.get_rank() + 1.0))

    run_ranks((2,), run)


def test_writes_to_a_part_are_writes_to_the_tensor() -> None:
    x = place(torch.zeros(4, 3), ALONE, [Shard(0)])
    to_local(x)[1] = 7
    x[0].fill_(3)
    assert x.sum().item() == 30
    version = x._version
    x.mul_(2)
    assert x._version == version + 1


def test_a_write_keeps_the_place_of_what_is_written_to() -> None:
    x, y = torch.randn(4, 6, dtype=torch.float64), torch.randn(4, 6, dtype=torch.float64)
    kinds: list[Any] = [Replicate(), Shard(0), Shard(1), Partial()]

    def run(mesh: DeviceMesh) -> None:
        for one, other in itertools.product(kinds, repeat=2):
            for name in ("add_", "mul_", "copy_", "sub_", "clamp_min_"):
                a, b = lay(x, mesh, [one]), lay(y, mesh, [other])
                alias = a
                getattr(a, name)(b)
                assert placement_of(alias) == (mesh, (one,))
                expected = getattr(x.clone(), name)(y).numpy()
                np.testing.assert_allclose(full(a).numpy(), expected, 1e-12, 1e-12, err_msg=f"{name} {one} {other}")
            a = lay(x, mesh, [one]).add_(2)
            np.testing.assert_allclose(full(a).numpy(), (x + 2).numpy(), 1e-12, 1e-12)

    run_ranks((2,), run)


def test_weight_decay_of_a_gradient_that_is_to_be_summed_counts_once() -> None:
    w, g = torch.randn(4, 2, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64)

    def run(mesh: DeviceMesh) -> None:
        grad, param = lay(g, mesh, [Partial()]), lay(w, mesh, [Replicate()])
        for found in (grad + 0.1 * param, grad.add(param, alpha=0.1), param.mul(0.1).add_(grad)):
            np.testing.assert_allclose(full(found).numpy(), (g + 0.1 * w).numpy(), 1e-12)
        for found, expected in ((grad * grad, g * g), (grad + 1, g + 1), (grad * 2, g * 2), (-grad, -g)):
            np.testing.assert_allclose(full(found).numpy(), expected.numpy(), 1e-12)
        for kept in (grad * 2, -grad, grad * param, grad / param, grad + grad, grad.t(), grad.view(8), grad[1]):
            assert placement_of(kept) == (mesh, (Partial(),))
        for whole in (grad + param, grad + 1, grad.relu(), grad + lay(g, mesh, [Partial("max")])):
            assert placement_of(whole) == (mesh, (Replicate(),))

    run_ranks((2,), run)


DRAWS = {
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.4),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "randint_like": lambda x: torch.randint_like(x, 10),
    "normal_": lambda x: x.clone().normal_(),
    "uniform_": lambda x: x.clone().uniform_(),
    "exponential_": lambda x: x.clone().exponential_(),
    "bernoulli_": lambda x: x.clone().bernoulli_(0.3),
    "init": lambda x: torch.nn.init.xavier_uniform_(x.clone()),
    "alpha_dropout": lambda x: torch.nn.functional.alpha_dropout(x, 0.4, training=True),
}


@pytest.mark.filterwarnings("ignore:The operator")
@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_those_of_one_device(name: str) -> None:
    x = torch.rand(5, 6)
    generator_state = torch.manual_seed(7).get_state()
    expected = DRAWS[name](x)
    parts = {}
    # One thread after the other, because they share a generator: a mesh of which only one process draws.
    for placements in ([Replicate()], [Shard(0)], [Shard(1)]):
        for rank in range(2):
            mesh = ThreadMesh([0, 1], rank)
            torch.set_rng_state(generator_state)
            found = DRAWS[name](place(x, mesh, placements))
            start = tuple(slice(a, a + b) for a, b in found._dispatch_data.spec.parts)
            np.testing.assert_allclose(to_local(found).numpy(), expected.numpy()[start], 1e-6)
            parts[rank] = start


def test_text_layout_and_questions() -> None:
    x = place(torch.ones(2, 2), ALONE, [Shard(0)])
    assert repr(x) == (
        "DTensor(local_tensor=tensor([[1., 1.],\n        [1., 1.]]), device_mesh=DeviceMesh((1), 'cpu'),"
        " placements=(Shard(dim=0),))"
    )
    assert x.layout is torch.strided and x.stride() == (2, 1) and x.is_contiguous()
    assert isinstance(x, DTensor) and x.placements == (Shard(0),) and not isinstance(torch.ones(2), DTensor)
    with pytest.raises(TypeError, match="full_tensor"):
        x.numpy()


def test_copies_pickles_and_files_lie_as_the_tensor_does() -> None:
    mesh = Mesh("cpu", [0], rank=0)
    x = place(torch.arange(6.0).reshape(2, 3), mesh, [Shard(0)]).requires_grad_()
    (x * x).sum().backward()
    file = io.BytesIO()
    torch.save({"x": x.detach()}, file)
    file.seek(0)
    for each in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), torch.load(file)["x"]):
        assert placement_of(each) == (mesh, (Shard(0),)) and torch.equal(each, x)
        assert each._dispatch_data.spec is x._dispatch_data.spec
    assert torch.equal(copy.deepcopy(x).grad, 2 * x)


def test_a_module_with_placed_parameters_is_loaded_and_kept() -> None:
    layer = torch.nn.Linear(3, 2)
    for name, each in list(layer.named_parameters()):
        setattr(layer, name, torch.nn.Parameter(place(each.detach(), ALONE, [Shard(0)])))
    state = {name: each * 2 for name, each in layer.state_dict().items()}
    layer.load_state_dict(state)
    assert torch.equal(layer.weight, state["weight"]) and placement_of(layer.weight) == (ALONE, (Shard(0),))
    layer.to(torch.float64)
    assert layer.weight.dtype is torch.float64 and placement_of(layer.weight) == (ALONE, (Shard(0),))


def test_what_is_refused() -> None:
    # Tests of interrupts may have left a backward in this thread's context, inside which more is taken.
    contextvars.Context().run(_check_refusals)


def _check_refusals() -> None:
    x = place(torch.ones(4, 2), ALONE, [Replicate()])
    with pytest.raises(RuntimeError, match=r"aten::add.Tensor: got mixed torch.Tensor and DTensor"):
        x + torch.ones(4, 2)
    assert (x + torch.tensor(1.0)).sum().item() == 16
    with pytest.raises(RuntimeError, match="got mixed"):
        torch.ones(4, 2).add_(x)
    with pytest.raises(PlacementError, match=r"Can not redistribute from R to P\(sum\), redistributing to Partial"):
        redistribute(x, ALONE, [Partial()])
    with pytest.raises(PlacementError, match="greater than tensor ndim"):
        place(torch.ones(4), ALONE, [Shard(2)])
    with pytest.raises(PlacementError, match="Partial"):
        place(torch.ones(4), ALONE, [Partial()])
    with pytest.raises(RuntimeError, match="different meshes"):
        x + place(torch.ones(4, 2), ThreadMesh([[0]], 0), [Replicate()] * 2)
    with pytest.raises(NotImplementedError, match="to_local"):
        x.resize_(2)


def test_tensors_on_a_part_of_a_mesh_meet_those_on_the_whole() -> None:
    x = torch.randn(4, 6)

    def run(mesh: DeviceMesh) -> None:
        one = place(x, mesh["data"], [Shard(0)])
        other = place(x, mesh, [Replicate(), Shard(1)])
        np.testing.assert_allclose(full(one + other).numpy(), (x + x).numpy())
        assert (one + other)._dispatch_data.mesh == mesh

    run_ranks((2, 2), run, names=("data", "model"))


def test_what_has_no_rule_is_gathered_counted_named_once_and_limited() -> None:
    x = torch.randn(4, 4)

    def run(mesh: DeviceMesh) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            placed = place(x, mesh, [Shard(0)])
            for _ in range(2):
                np.testing.assert_allclose(
                    full(torch.linalg.inv(placed)).numpy(), torch.linalg.inv(x).numpy(), 1e-3, 1e-5
                )
        set_gather_limit(mesh, 63)
        with pytest.raises(PlacementError, match=r"64 bytes.*the limit.*is 63"):
            torch.linalg.inv(placed)
        return len(caught)

    before = sum(gathers().values())
    run_ranks((2,), run)
    assert sum(gathers().values()) >= before + 4
    set_gather_limit(ThreadMesh([0, 1], 0), 1 << 40)


def test_steps_are_captured_and_pipelined() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    for name, each in list(layer.named_parameters()):
        setattr(layer, name, torch.nn.Parameter(place(each.detach(), ALONE, [Replicate()])))
    other = copy.deepcopy(layer)
    x = place(torch.randn(4, 3), ALONE, [Shard(0)])

    def make(net: Any) -> Any:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    eager, captured = make(layer), dc.capture(make(other))
    for _ in range(4):
        one, two = eager(x), captured(x)
        assert one.item() == pytest.approx(two.item(), rel=1e-6)
    with dc.pipeline():
        y = (x * 2).relu().sum()
    assert y.item() == pytest.approx((x * 2).relu().sum().item())


def test_vmap_and_grad_take_placed_tensors() -> None:
    x = place(torch.randn(4, 3), ALONE, [Replicate()])
    found = torch.func.grad(lambda x: (x * x).sum())(x)
    assert torch.equal(found, 2 * x)
    assert torch.func.vmap(lambda row: (row * 2).sum())(x).shape == (4,)


def test_a_mesh_of_processes_without_their_group_says_so() -> None:
    from dispatch_aten.placements import DeviceMesh as Mesh
    from torchlike.distributed import NoProcessGroupError
    from torchlike.distributed.device_mesh import as_device_mesh

    with pytest.raises(NoProcessGroupError, match="destroy_process_group has given it back"):
        as_device_mesh(Mesh("cpu", [0, 1], rank=0)).get_group()
