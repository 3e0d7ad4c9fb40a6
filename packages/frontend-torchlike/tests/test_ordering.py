"""Order statistics, scattered reductions and views in place beside NumPy, in every layout and inside pipelines."""

import numpy as np
import pytest

import torchlike as t

RNG = np.random.default_rng(7)
ARRAY = RNG.permutation(24).reshape(4, 6).astype(np.float32)
WITH_NAN = np.where(ARRAY == 5, np.nan, ARRAY)

CASES = {
    "median": (lambda x: x[:, :5].median(1).values, lambda a: np.median(a[:, :5], 1)),
    "nanmedian": (lambda x: t.nanmedian(x[:, :5], 1).values, lambda a: np.nanmedian(a[:, :5], 1)),
    "kthvalue": (lambda x: x.kthvalue(2, 1)[0], lambda a: np.sort(a, 1)[:, 1]),
    "quantile": (lambda x: t.quantile(x, 0.3, dim=0), lambda a: np.quantile(a, 0.3, 0)),
    "nansum": (lambda x: x.nansum(0), lambda a: np.nansum(a, 0)),
    "cummax": (lambda x: x.cummax(1)[0], lambda a: np.maximum.accumulate(a, 1)),
    "diff": (lambda x: x.diff(dim=0), lambda a: np.diff(a, axis=0)),
    "trapezoid": (lambda x: t.trapezoid(x, dx=0.5), lambda a: np.trapezoid(a, dx=0.5)),
    "unique": (lambda x: t.unique(x % 5), lambda a: np.unique(a % 5)),
    "bincount": (lambda x: x.long().reshape(-1).bincount(), lambda a: np.bincount(a.astype(int).ravel())),
    "histc": (lambda x: x.histc(4, 0, 23), lambda a: np.histogram(a, 4, (0, 23))[0]),
    "searchsorted": (lambda x: t.searchsorted(x.sort(1)[0][0], x), lambda a: np.searchsorted(np.sort(a[0]), a)),
    "kron": (lambda x: t.kron(x[:2], x), lambda a: np.kron(a[:2], a)),
    "rot90": (lambda x: x.rot90(), np.rot90),
    "diag_embed": (lambda x: t.diag_embed(x[0]), lambda a: np.diag(a[0])),
    "repeat_interleave": (lambda x: x.repeat_interleave(3, 1), lambda a: np.repeat(a, 3, 1)),
    "cov": (lambda x: x.cov(), np.cov),
    "unfold": (lambda x: x.unfold(1, 3, 1), lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, 1)),
    "vsplit": (lambda x: x.vsplit(2)[1], lambda a: np.vsplit(a, 2)[1]),
    "take_along_dim": (
        lambda x: t.take_along_dim(x, x.argsort(1), 1),
        lambda a: np.take_along_axis(a, np.argsort(a, 1), 1),
    ),
}


@pytest.mark.parametrize("inside", ["eager", "pipeline"])
@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(name, inside):
    ours, theirs = CASES[name]
    for array in (ARRAY, ARRAY.T[::1].copy().T, *([WITH_NAN] if name == "nansum" else [])):
        tensor = t.tensor(array)
        if inside == "pipeline":
            with t.pipeline():
                found = ours(tensor)
        else:
            found = ours(tensor)
        np.testing.assert_allclose(found.numpy(), theirs(array), rtol=1e-5)


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"unique", "bincount"}))
def test_meta_has_the_shape_and_strides_of_the_cpu(name):
    here, there = (CASES[name][0](t.tensor(ARRAY).to(device)) for device in ("cpu", "meta"))
    assert (there.shape, there.stride(), there.dtype) == (here.shape, here.stride(), here.dtype)


@pytest.mark.parametrize("call", [t.unique, lambda x: x.bincount(), t.repeat_interleave, t.nonzero])
def test_shapes_that_depend_on_values_are_refused_on_meta(call):
    with pytest.raises(NotImplementedError, match="Meta tensors have none"):
        call(t.ones(3, dtype=t.int64, device="meta"))


@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin", "mean"])
def test_scattered_reductions_are_those_of_the_rows(reduce):
    index = np.array([0, 1, 0, 1])
    found = t.zeros(3, 6).scatter_reduce(
        0, t.tensor(index)[:, None].expand(4, 6), t.tensor(ARRAY), reduce, include_self=False
    )
    fold = {"amax": np.max, "amin": np.min}.get(reduce) or getattr(np, reduce)
    expected = [fold(ARRAY[index == row], 0) for row in (0, 1)]
    np.testing.assert_allclose(found.numpy(), [*expected, np.zeros(6)])


def test_a_view_in_place_keeps_memory_and_history():
    leaf = t.ones(2, 3, requires_grad=True)
    turned = leaf * 2
    view = turned.view(3, 2)
    assert turned.t_() is turned
    assert turned.shape == (3, 2)
    view.detach()[0, 0] = 7.0
    assert turned[0, 0] == 7
    (turned * t.arange(6.0).reshape(3, 2)).sum().backward()
    assert leaf.grad.tolist() == [[0, 4, 8], [2, 6, 10]]


def test_a_tensor_can_take_anothers_memory():
    source, taken = t.arange(6.0), t.empty(0)
    taken.set_(source)
    taken[0] = 9
    assert source[0] == 9
    assert taken.is_set_to(source)
    with pytest.raises(RuntimeError, match="Could not set tensor of type Long"):
        taken.set_(t.arange(3))


def test_second_derivatives_of_running_products_pass_zeros():
    x = t.tensor([2.0, 0.0, 3.0], requires_grad=True)
    (grad,) = t.autograd.grad(x.cumprod(0).sum(), x, create_graph=True)
    # x0 + x0 x1 + x0 x1 x2
    assert grad.tolist() == [1, 8, 0]
    (second,) = t.autograd.grad(grad.sum(), x)
    assert second.tolist() == [4, 6, 2]


def test_a_tensor_that_is_an_index_too_is_the_other_operand():
    two, row = t.tensor(2), t.tensor([1, 4])
    assert t.max(row, two).tolist() == [2, 4] and t.min(two, t.tensor(0)).item() == 0
    assert t.max(row, row).tolist() == [1, 4] and t.max(row, 0).values.item() == 4
    assert [each.tolist() for each in t.tensor_split(row, t.tensor(2))] == [[1], [4]]
    assert [each.tolist() for each in t.tensor_split(row, t.tensor([0]))] == [[], [1, 4]]
    values, places = t.max(row, 0, out=(t.empty(0, dtype=t.int64), two.clone()))
    assert (values.item(), places.item()) == (4, 1)
