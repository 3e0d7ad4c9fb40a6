"""In-place operators and views mean the same on arrays that cannot be written to: one suite, three backends."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import torchlike
from torchlike import nn, no_grad, optim

pytestmark = pytest.mark.usefixtures("frozen_backend", "strideless_backend")


@pytest.fixture(params=["cpu", "frozen", "strideless"])
def device(request):
    return request.param


@pytest.fixture
def grid(device):
    return torchlike.arange(6.0).reshape(2, 3).to(device, copy=True)


def test_the_backends_arrays_are_what_they_claim_to_be(grid, device):
    assert grid.device.type == device
    if device == "frozen":
        assert not grid._dispatch_data.array.flags.writeable


def test_an_in_place_operator_returns_and_changes_its_tensor(grid):
    assert grid.add_(1) is grid
    assert grid.tolist() == [[1, 2, 3], [4, 5, 6]]
    grid += grid
    grid.mul_(2).sub_(4)
    assert grid.tolist() == [[0, 4, 8], [12, 16, 20]]


def test_a_write_to_the_base_is_seen_by_its_views(grid):
    row, column, flat = grid[1], grid[:, 0], grid.view(6)
    grid.add_(10)
    assert row.tolist() == [13, 14, 15]
    assert column.tolist() == [10, 13]
    assert flat.tolist() == [10, 11, 12, 13, 14, 15]


def test_a_write_through_a_view_is_seen_by_the_base_and_its_other_views(grid):
    row, transposed = grid[0], grid.T
    row.mul_(100)
    assert grid.tolist() == [[0, 100, 200], [3, 4, 5]]
    assert transposed.tolist() == [[0, 3], [100, 4], [200, 5]]


def test_a_write_through_a_view_of_a_view(grid):
    inner = grid[:, 1:].T[0]
    inner.fill_(-1)
    assert grid.tolist() == [[0, -1, 2], [3, -1, 5]]
    assert inner.tolist() == [-1, -1]


def test_strided_and_reordered_views_write_where_they_point(grid):
    grid.view(-1)[::2].zero_()
    assert grid.tolist() == [[0, 1, 0], [3, 0, 5]]
    grid.permute(1, 0)[2].add_(7)
    assert grid.tolist() == [[0, 1, 7], [3, 0, 12]]
    grid.unsqueeze(0).squeeze(0).diagonal().fill_(9)
    assert grid.tolist() == [[9, 1, 7], [3, 9, 12]]


def test_parts_of_a_split_are_views(grid):
    first, second = grid.unbind()
    second.zero_()
    assert grid.tolist() == [[0, 1, 2], [0, 0, 0]]
    left, right = grid.split([1, 2], dim=1)
    right.fill_(3)
    left.fill_(8)
    assert grid.tolist() == [[8, 3, 3], [8, 3, 3]]
    assert first.tolist() == [8, 3, 3]


def test_detached_aliases_share_memory_and_versions(grid):
    alias = grid.detach()
    alias[0] = 5
    assert grid.tolist() == [[5, 5, 5], [3, 4, 5]]
    assert alias._version == grid._version == 1


def test_one_version_counts_the_writes_through_all_aliases(grid):
    row = grid[0]
    inner = row[1:]
    grid.add_(1)
    row.add_(1)
    inner.add_(1)
    assert grid._version == row._version == inner._version == 3


def test_assignment_by_index_and_mask(grid):
    row = grid[0]
    grid[0, 1] = 50
    grid[grid > 4] = -1
    assert grid.tolist() == [[0, -1, 2], [3, 4, -1]]
    assert row.tolist() == [0, -1, 2]
    grid[:, [0, 2]] = torchlike.zeros(2, 2).to(grid.device)
    assert grid.tolist() == [[0, -1, 0], [0, 4, 0]]


def test_copies_are_no_aliases(grid):
    copy = grid.clone()
    grid.zero_()
    assert copy.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_out_is_written(grid, device):
    out = torchlike.empty(2, 3, device=device)
    alias = out[0]
    assert torchlike.add(grid, grid, out=out) is out
    assert out.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert alias.tolist() == [0, 2, 4]


def test_a_failed_write_changes_nothing(grid, device):
    row = grid[0]
    with pytest.raises(RuntimeError):
        grid.add_(torchlike.ones(5, device=device))
    assert grid._version == 0
    assert grid.tolist() == [[0, 1, 2], [3, 4, 5]] and row.tolist() == [0, 1, 2]


def test_gradients_flow_through_writes_to_views(device):
    x = torchlike.ones(3).to(device).requires_grad_()
    base = torchlike.zeros(2, 3).to(device)
    row, flat = base[1], base.view(6)
    row.add_(x).mul_(2)
    assert base.grad_fn.name() == "CopySlices"
    (flat * flat).sum().backward()
    assert x.grad.tolist() == [8.0] * 3


def test_a_view_that_gets_other_data_leaves_its_base(device):
    x = torchlike.tensor([2.0, 3.0], device=device, requires_grad=True)
    base = x * 3
    view = base[:1]
    view.data = torchlike.tensor([5.0], device=device)
    view.mul_(10)
    assert (view.tolist(), base.tolist()) == ([50.0], [6.0, 9.0])
    assert torchlike.autograd.grad(view.sum(), x, retain_graph=True)[0].tolist() == [30.0, 0.0]
    # On arrays that can be written the view keeps its base, as in torch: the write counts as one to both.
    assert torchlike.autograd.grad(base.sum(), x)[0].tolist() == ([30.0, 3.0] if device == "cpu" else [3.0, 3.0])


def test_a_view_whose_history_is_refused_gets_other_data(device):
    base = torchlike.tensor([2.0, 3.0], device=device, requires_grad=True) * 3
    with torchlike.no_grad():
        view = base[:1]
    base.mul_(2)
    view.data = torchlike.tensor([5.0], device=device)
    assert (view.tolist(), base.tolist()) == ([5.0], [12.0, 18.0])
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        _ = view.grad_fn


def test_a_saved_tensor_changed_through_an_alias_is_caught(device):
    x = torchlike.ones(3).to(device).requires_grad_()
    saved = torchlike.ones(3).to(device)
    alias = saved.view(3, 1)
    y = (x * saved).sum()
    alias.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_layer_trains(device):
    torchlike.manual_seed(0)
    layer = nn.Linear(3, 1).to(device)
    x = torchlike.rand(32, 3).to(device)
    target = x.sum(1, keepdim=True)
    optimizer = optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(layer(x), target)
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-3
    with no_grad():
        assert layer.weight.to("cpu").sub(1).abs().max().item() < 0.1


def test_a_view_that_is_resized_is_written_to(device):
    whole = torchlike.arange(6.0).to(device, copy=True)
    view = whole.view(2, 3)
    view.resize_(2, 2).fill_(7)
    assert view.tolist() == [[7, 7], [7, 7]]
    assert whole.tolist() == ([7, 7, 7, 7, 4, 5] if device == "cpu" else [0, 1, 2, 3, 4, 5])
    view.resize_(3).zero_()
    assert view.tolist() == [0, 0, 0]


@pytest.mark.parametrize("parts", [lambda t: t.unbind(0), lambda t: t.split(1), lambda t: t.chunk(2)])
def test_one_of_several_views_takes_no_write_that_is_recorded(grid, parts):
    part = parts(grid.requires_grad_() * 1)[0]
    with pytest.raises(RuntimeError, match="a function that returns multiple views"):
        part.mul_(2)
    with no_grad():
        part.mul_(2)
    assert part.detach().flatten().tolist() == [0.0, 2.0, 4.0]


def test_writes_of_threads_to_different_elements_all_arrive(device):
    whole = torchlike.zeros(64, 2).to(device)
    rows = whole.unbind()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda place: whole.__setitem__((place, 0), place + 1.0), range(64)))
        list(threads.map(lambda place: [rows[place % 64].add_(1) for _ in range(3)], range(64)))
    assert whole.tolist() == [[place + 4.0, 3.0] for place in range(64)]
    assert [row.tolist() for row in rows] == whole.tolist()
