"""The device ``dask`` in threads of this process: chunks, sizes that are not known, random numbers, graphs."""

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike.nn import functional as F

pytest.importorskip("dask.array")


def on_dask(values, chunks):
    """Return a tensor on dask in these chunks."""
    return torchlike.tensor(values, device="dask", chunks=chunks)


GRID = np.arange(24, dtype=np.float32).reshape(6, 4) / 7 - 1.5
EXPRESSIONS = {
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(1, keepdim=True),
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(0),
    "matmul": lambda x: x @ x.T,
    "chain": lambda x: (x.relu() * 2 - 1).tanh().pow(2),
    "slice": lambda x: x[1:5:2, 1:] * 3,
    "rows": lambda x: x[torchlike.tensor([4, 0, 0, 5], device=x.device)],
    "pairs": lambda x: x[torchlike.tensor([4, 0, 5], device=x.device), torchlike.tensor([[1], [2]], device=x.device)],
    "gather": lambda x: x.gather(1, (x > 0).long()),
    "transposed": lambda x: x.T.reshape(3, 8).flip(0),
    "sort": lambda x: x.sort(0, descending=True)[0],
    "cumsum": lambda x: x.cumsum(0),
    "variance": lambda x: x.var(0),
    "norm": lambda x: F.layer_norm(x, (4,)),
    "loss": lambda x: F.cross_entropy(x, torchlike.tensor([0, 3, 1, 1, 2, 0], device=x.device)),
    "cat": lambda x: torchlike.cat([x, x * 2], 1),
    "where": lambda x: torchlike.where(x > 0, x, -x),
    "mask": lambda x: x[x > 0] * 2,
    "row mask": lambda x: x[x[:, 0] > 0],
    "index_add": lambda x: torchlike.zeros(3, 4, device=x.device).index_add(
        0, torchlike.tensor([0, 1, 2, 0, 1, 1], device=x.device), x
    ),
}


@pytest.mark.parametrize("chunks", [(2, 4), (4, 3), -1])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_and_gradients_are_those_of_the_cpu(name, chunks):
    ours, theirs = on_dask(GRID, chunks).requires_grad_(), torchlike.tensor(GRID).requires_grad_()
    got, wanted = EXPRESSIONS[name](ours), EXPRESSIONS[name](theirs)
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    np.testing.assert_allclose(got.detach().cpu(), wanted.detach(), rtol=1e-5, atol=1e-6)
    (got * got).sum().backward()
    (wanted * wanted).sum().backward()
    np.testing.assert_allclose(ours.grad.cpu(), theirs.grad, rtol=1e-5, atol=1e-5)


def test_in_place_calls_and_writes_through_views():
    ours, theirs = on_dask(GRID, (2, 2)), torchlike.tensor(GRID)
    for x in (ours, theirs):
        x[1:3, 1] += 5
        x.T[0].mul_(2)
        x[torchlike.tensor([0, 5], device=x.device)] = -1
        x[x > 2] = 0
        x.view(-1)[3:9].add_(1)
    np.testing.assert_allclose(ours.cpu(), theirs, rtol=1e-6)


def test_a_mask_gives_an_array_whose_size_is_not_known():
    x = on_dask(GRID, (2, 4))
    chosen = x[x > 0]
    before = dc.computed_for_sizes()
    total = (chosen * 2 + 1).exp().sum()
    assert np.isnan(chosen._dispatch_data.shape[0])
    assert dc.computed_for_sizes() == before
    np.testing.assert_allclose(total.item(), np.exp(GRID[GRID > 0] * 2 + 1).sum(), rtol=1e-5)
    assert chosen.shape == (int((GRID > 0).sum()),)
    assert (chosen + chosen[0]).shape == chosen.shape
    assert x.nonzero().tolist() == torchlike.tensor(GRID).nonzero().tolist()


def test_random_chunks_are_the_same_however_often_they_are_computed():
    torchlike.manual_seed(3)
    x = torchlike.randn(4, 2500, device="dask", chunks=1000)
    assert x._dispatch_data.numblocks == (1, 3)
    values = x._dispatch_data.compute(), x._dispatch_data.compute()
    assert (values[0] == values[1]).all()
    assert abs(values[0].mean()) < 0.05 and abs(values[0].std() - 1) < 0.05
    assert len(np.unique(values[0])) > 9990
    torchlike.manual_seed(3)
    again, others = (torchlike.randn(4, 2500, device="dask", chunks=1000).cpu().numpy() for _ in range(2))
    assert (again == values[0]).all()
    assert not (others == values[0]).any()
    drawn = torchlike.randint(3, 9, (1000,), device="dask").cpu()
    assert set(drawn.tolist()) == {3, 4, 5, 6, 7, 8}
    assert torchlike.rand(50, device="dask").min().item() >= 0


def test_infinities_are_no_warnings():
    assert torchlike.tensor([0.0, -1.0], device="dask").log().cpu()[0] == -torchlike.inf


def test_a_pipeline_computes_what_it_keeps_in_one_graph(monkeypatch):
    from dispatch_backend_array_api import dask_cluster

    calls, persist = [], dask_cluster._persist_here
    monkeypatch.setattr(dask_cluster, "_persist_here", lambda arrays: calls.append(len(arrays)) or persist(arrays))
    x = on_dask(GRID, (2, 4))
    w = torchlike.ones(4, device="dask", requires_grad=True)
    optimizer = torchlike.optim.SGD([w], lr=0.1)
    with torchlike.pipeline():
        loss = ((x @ w) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del loss
    assert calls == [2]  # the weights and their gradient
    assert len(w._dispatch_data.value.dask.layers) == 1


def numblocks(tensor):
    return tensor._dispatch_data.numblocks


def test_factories_and_conversions_take_chunks():
    assert numblocks(torchlike.zeros(6, 4, device="dask", chunks=(2, None))) == (3, 1)
    assert numblocks(torchlike.full((6,), 2.0, device="dask", chunks=((1, 5),))) == (2,)
    assert numblocks(torchlike.arange(6, device="dask", chunks=2)) == (3,)
    assert numblocks(torchlike.empty(6, device="dask", chunks=4, requires_grad=True)) == (2,)
    x = torchlike.tensor(GRID).to("dask", chunks=(3, 2))
    assert numblocks(x) == (2, 2)
    y = x.requires_grad_().to("dask", chunks=(6, 1))
    assert numblocks(y) == (1, 4)
    y.sum().backward()
    assert x.grad.shape == (6, 4)
    with torchlike.pipeline():
        z = torchlike.ones(6, device="dask", chunks=2) * 2
    assert numblocks_of_pending(z) == (3,)


def numblocks_of_pending(tensor):
    return tensor._dispatch_data.value.numblocks


def test_other_devices_refuse_chunks():
    for make in (
        lambda: torchlike.ones(3, chunks=2),
        lambda: torchlike.tensor([1.0], chunks=1),
        lambda: torchlike.ones(3).to("cpu", chunks=2),
        lambda: torchlike.ones(3).to("meta", chunks=2),
    ):
        with pytest.raises(dc.ArgumentError, match="keeps every array in one piece"):
            make()


def test_chunks_that_do_not_fit_are_refused():
    for chunks in ((2, 2, 2), "many", (3, "x")):
        with pytest.raises(dc.ArgumentError, match="do not fit the shape"):
            torchlike.ones(4, 4, device="dask", chunks=chunks)


def test_what_cannot_be_computed_is_said_in_the_operators_words():
    x, far = on_dask(GRID[:, 0], 2), torchlike.tensor([1, 7], device="dask")
    where = "index 7 is out of bounds for dimension 0 with size 6"
    for operator, call in {
        "index.Tensor": lambda: x[far],
        "gather": lambda: x.gather(0, far),
    }.items():
        with pytest.raises(dc.DispatchError, match=rf"{where} \(.*aten::{operator}"):
            call().tolist()
    with pytest.raises(dc.DispatchError, match=r"index out of range in self \(.*aten::index_select\)\n.*index 7"):
        x.index_select(0, far).tolist()
    with pytest.raises(dc.DispatchError, match=r"max\(\): Expected reduction dim to be specified"):
        x[:0].max()
    assert x[x > 0].max().item() == GRID[:, 0].max() and x[x > 0].min().item() > 0


def test_arrays_of_equal_values_are_not_one_memory():
    one, two = (torchlike.ones(2, 3, device="dask") for _ in range(2))
    assert one.is_set_to(one)
    assert not one.is_set_to(two)


@pytest.mark.parametrize("shape", [(0,), (0, 2, 432), (432, 0)])
def test_arrays_without_elements_are_made(shape):
    assert torchlike.full(shape, 2.0, dtype=torchlike.float64, device="dask").shape == shape


def test_negative_positions_of_rows_are_refused_as_by_the_cpu():
    x, index = on_dask(GRID, 2), torchlike.tensor([0, -1], device="dask")
    rows = torchlike.ones(2, 4, device="dask")
    calls = (lambda: x.index_select(0, index), lambda: x.index_add(0, index, rows), lambda: F.embedding(index, x))
    for call in calls:
        with pytest.raises(IndexError, match="index out of range in self"):
            call().tolist()
