"""Sparse tensors of coordinates against SciPy and NumPy, and what is refused."""

from __future__ import annotations

import copy
import io
import math
import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import dispatch_core as dc
import torchlike
from torchlike.sparse.mixed_layouts import RESULTS
from torchlike.utils._python_dispatch import TorchDispatchMode

INDICES = [[0, 1, 1], [2, 0, 2]]


def make(rows=3, columns=4, *, seed=0, density=0.5, dtype=np.float64, requires_grad=False):
    random = np.random.default_rng(seed)
    chosen = random.permutation(rows * columns)[: int(density * rows * columns)]
    places = np.unravel_index(chosen, (rows, columns))
    found = scipy.sparse.coo_array((random.random(len(chosen)).astype(dtype), places), shape=(rows, columns))
    indices, values = (torchlike.from_numpy(np.array(each)) for each in (np.stack(found.coords), found.data))
    return torchlike.sparse_coo_tensor(indices, values, (rows, columns)).requires_grad_(requires_grad), found


def close(found, wanted):
    np.testing.assert_allclose(np.asarray(found.detach().to_dense()), wanted, rtol=1e-5, atol=1e-6)


@pytest.fixture
def s():
    return torchlike.sparse_coo_tensor(INDICES, [3.0, 4.0, 5.0], (2, 3))


# What a sparse tensor is.


def test_a_sparse_tensor_answers_for_its_components(s):
    assert s.shape == (2, 3) and s.dtype is torchlike.float32 and str(s.device) == "cpu" and s.numel() == 6
    assert s.layout is torchlike.sparse_coo and s.is_sparse and not s.is_sparse_csr and s.stride() == (0, 0)
    assert (s.sparse_dim(), s.dense_dim(), s._nnz(), len(s), s.dim()) == (2, 0, 3, 2, 2)
    assert s._indices().tolist() == INDICES and s._values().tolist() == [3.0, 4.0, 5.0]
    assert s.to_dense().tolist() == [[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]
    x = torchlike.ones(2)
    assert (x.sparse_dim(), x.dense_dim(), x.is_sparse) == (0, 1, False) and x.to_dense() is x
    assert repr(s).splitlines() == [
        "tensor(indices=tensor([[0, 1, 1],",
        "                       [2, 0, 2]]),",
        "       values=tensor([3., 4., 5.]),",
        "       size=(2, 3), nnz=3, layout=torchlike.sparse_coo)",
    ]


def test_sizes_are_as_small_as_they_can_be():
    assert torchlike.sparse_coo_tensor(INDICES, [3, 4, 5]).shape == (2, 3)
    assert torchlike.sparse_coo_tensor([[1]], torchlike.ones(1, 4)).shape == (2, 4)
    empty = torchlike.sparse_coo_tensor((2, 3), dtype=torchlike.float64)
    assert (
        empty._nnz() == 0 and empty.is_coalesced() and empty.to_dense().sum() == 0 and empty.dtype is torchlike.float64
    )


def test_coalescing_sums_what_is_there_twice():
    twice = torchlike.sparse_coo_tensor([[1, 0, 1], [0, 2, 0]], [3.0, 4.0, -3.0], (2, 3))
    assert not twice.is_coalesced()
    once = twice.coalesce()
    assert once.is_coalesced() and once.coalesce() is once
    assert once.indices().tolist() == [[0, 1], [2, 0]] and once.values().tolist() == [4.0, 0.0]
    assert twice._nnz() == 3


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1), st.integers(-5, 5)), max_size=12),
    st.sampled_from(["float32", "float64", "int64", "int32", "bool", "float16"]),
    st.integers(1, 3),
)
def test_coalescing_generated_places(elements, dtype, rank):
    array = np.array(elements, np.int64).reshape(-1, 4)
    indices, size = array[:, :rank].T, (3, 4, 2)[:rank]
    values = array[:, 3].astype(dtype)
    x = torchlike.sparse_coo_tensor(torchlike.from_numpy(indices.copy()), torchlike.from_numpy(values), size)
    wanted = np.zeros(size, dtype)
    (np.logical_or if dtype == "bool" else np.add).at(wanted, tuple(indices), values)
    found = x.coalesce()
    np.testing.assert_array_equal(np.asarray(found.to_dense()), wanted)
    np.testing.assert_array_equal(np.asarray(x.to_dense()), wanted)
    order = sorted({tuple(each) for each in indices.T.tolist()})
    assert [tuple(each) for each in np.asarray(found.indices()).T.tolist()] == order


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_a_strided_tensor_and_back(sparse_dim):
    array = np.random.default_rng(0).integers(0, 2, (3, 4, 2)).astype(np.float32)
    x = torchlike.from_numpy(array).to_sparse(sparse_dim)
    assert (x.sparse_dim(), x.dense_dim(), x.is_coalesced()) == (sparse_dim, 3 - sparse_dim, True)
    np.testing.assert_array_equal(np.asarray(x.to_dense()), array)
    number = torchlike.tensor(3.0).to_sparse()
    assert number.to_dense().item() == 3.0 and number._indices().shape == (0, 1)


# Arithmetic and products.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("has_scipy", [True, False])
def test_products_and_sums_are_scipy_s(dtype, seed, has_scipy, monkeypatch):
    if not has_scipy:
        monkeypatch.setattr("torchlike.sparse.matrices._load_scipy", lambda: None)
    (a, one), (b, two) = make(4, 5, seed=seed, dtype=dtype), make(4, 5, seed=seed + 9, dtype=dtype)
    d = np.random.default_rng(seed).normal(size=(5, 3)).astype(dtype)
    dense = torchlike.from_numpy(d)
    assert (a @ dense).layout is torchlike.strided and (a @ dense).dtype is a.dtype
    close(a @ dense, one @ d)
    close(dense.t() @ a.t(), d.T @ one.T)
    close(a.mv(dense[:, 0]), one @ d[:, 0])
    close(dense[:, 0] @ a.t(), one @ d[:, 0])
    close(a @ b.t(), (one @ two.T).todense())
    assert (a @ b.t()).is_sparse and (a + b).is_sparse
    for found, wanted in ((a + b, one + two), (a - b, one - two), (a.coalesce() * b.coalesce(), one.multiply(two))):
        close(found, wanted.todense())
    close(torchlike.sparse.addmm(torchlike.ones(4, 3, dtype=a.dtype), a, dense, beta=2, alpha=3), 2 + 3 * (one @ d))
    close(a.t(), one.T.todense())
    close(a.sum(0), one.sum(0))
    close(torchlike.sparse.sum(a, 1), one.sum(1))
    assert float(a.sum()) == pytest.approx(one.sum(), rel=1e-5)


def test_zeros_that_are_there_stay():
    a = torchlike.sparse_coo_tensor([[0, 0], [0, 1]], [1.0, 1.0], (2, 2)).coalesce()
    b = torchlike.sparse_coo_tensor([[0, 1], [0, 0]], [1.0, -1.0], (2, 2)).coalesce()
    assert (a - a).indices().tolist() == [[0, 0], [0, 1]] and (a - a).values().tolist() == [0.0, 0.0]
    assert (a @ b).indices().tolist() == [[0], [0]] and (a @ b).values().tolist() == [0.0]
    assert (a * 0)._nnz() == 2


@pytest.mark.parametrize("dtype", [torchlike.int64, torchlike.float16, torchlike.complex64])
def test_products_in_other_dtypes_are_made_of_operators(dtype):
    s, dense = torchlike.sparse_coo_tensor(INDICES, [3, 4, 5], (2, 3)).to(dtype), torchlike.ones(3, 2, dtype=dtype)
    found = s @ dense
    assert found.dtype is dtype and found.to(torchlike.complex64).real.tolist() == [[3.0, 3.0], [9.0, 9.0]]


def test_dense_dimensions():
    values = torchlike.arange(6.0).reshape(3, 2)
    x = torchlike.sparse_coo_tensor([[1, 0, 1]], values, (3, 2))
    assert (x + x).to_dense().tolist() == [[4.0, 6.0], [8.0, 12.0], [0.0, 0.0]]
    assert (x * 2).coalesce().values().tolist() == [[4.0, 6.0], [8.0, 12.0]]
    assert torchlike.sparse.sum(x, 0).tolist() == [6.0, 9.0] and x.sum(1).to_dense().tolist() == [5.0, 10.0, 0.0]


def test_functions_that_keep_zeros_apply_to_sums():
    twice = torchlike.sparse_coo_tensor([[0, 0, 2]], [1.0, 2.0, -4.0], (3,))
    assert (twice**2).values().tolist() == [9.0, 16.0] and twice.abs().values().tolist() == [3.0, 4.0]
    assert torchlike.relu(twice).to_dense().tolist() == [3.0, 0.0, 0.0]
    assert twice.isnan().dtype is torchlike.bool and (-twice)._nnz() == 3


def test_writes_in_place(s):
    same, shared = s, s.detach()
    s.mul_(2).add_(s.clone()).neg_()
    assert s is same and s.to_dense().tolist() == [[0.0, 0.0, -12.0], [-16.0, 0.0, -20.0]] and s._version == 3
    assert shared.shape == s.shape
    x = torchlike.zeros(2, 3)
    x.add_(s, alpha=-0.5).mul_(s)
    assert x.tolist() == [[0.0, 0.0, -72.0], [-128.0, 0.0, -200.0]]
    s.zero_()
    assert s._nnz() == 0 and s.shape == (2, 3)
    with pytest.raises(RuntimeError, match="can't be cast"):
        torchlike.sparse_coo_tensor(INDICES, [1, 2, 3]).add_(torchlike.sparse_coo_tensor(INDICES, [1.0, 2.0, 3.0]))


def test_parts_and_joined_tensors():
    (a, one), (b, two) = make(3, 4), make(3, 4, seed=1)
    close(torchlike.cat([a, b]), scipy.sparse.vstack([one, two]).todense())
    close(torchlike.cat([a, b], 1), scipy.sparse.hstack([one, two]).todense())
    dense = np.stack([one.todense(), two.todense()], 1)
    stacked = torchlike.stack([a, b], 1)
    close(stacked, dense)
    close(stacked[2], dense[2])
    close(stacked.select(1, -1), dense[:, -1])
    close(a[0], one.todense()[0])
    assert float(a[1, 2]) == one.todense()[1, 2] and not torchlike.zeros_like(a).any() and a.any()
    close(a.unsqueeze(-1), one.todense()[..., None])
    with pytest.raises(RuntimeError, match="a dense tensor was found"):
        torchlike.cat([a, b.to_dense()])
    with pytest.raises(RuntimeError, match="must have the same shape"):
        torchlike.cat([a, b.t()])
    with pytest.raises(IndexError, match=r"out of (range|bounds)"):
        a[7]
    assert [row.to_dense().tolist() for row in a] == one.todense().tolist()


# Gradients.


def test_gradients_have_the_places_of_the_tensor(s):
    s.requires_grad_()
    w = torchlike.ones(3, 2, requires_grad=True)
    torchlike.sparse.mm(s, w).sum().backward()
    assert s.grad.is_sparse and s.grad._indices().tolist() == INDICES and s.grad._values().tolist() == [2.0, 2.0, 2.0]
    assert w.grad.tolist() == [[4.0, 4.0], [0.0, 0.0], [8.0, 8.0]]
    torchlike.sparse.sum(s * 3).backward()
    assert s.grad.coalesce().values().tolist() == [5.0, 5.0, 5.0]


def test_values_of_a_sparse_tensor_have_a_gradient():
    values = torchlike.tensor([3.0, 4.0, 5.0], requires_grad=True)
    s = torchlike.sparse_coo_tensor([[0, 1, 0], [2, 0, 2]], values, (2, 3))
    assert not s.is_leaf and s.requires_grad and not s._values().requires_grad
    (s.to_dense() ** 2).sum().backward()
    assert values.grad.tolist() == [16.0, 8.0, 16.0]
    leaf = torchlike.sparse_coo_tensor([[0]], [1.0], requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad


@pytest.mark.parametrize("masked", [True, False])
def test_the_gradient_of_to_dense_is_masked_unless_asked_otherwise(s, masked):
    s.requires_grad_()
    s.to_dense(masked_grad=masked).sum().backward()
    assert s.grad._nnz() == (3 if masked else 6)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_agree_with_numbers(seed):
    (a, _), (b, _) = make(3, 4, seed=seed), make(3, 4, seed=seed + 5)
    indices, other = a._indices(), b.coalesce()

    def run(values, dense):
        s = torchlike.sparse_coo_tensor(indices, values, (3, 4))
        mixed = torchlike.sparse.mm(s * 2 + other, dense) + (s.t() @ torchlike.sparse.mm(s, dense))[:3]
        return mixed.sum() + torchlike.sparse.sum(s / 3)

    dense = torchlike.randn(4, 2, dtype=torchlike.float64, requires_grad=True)
    assert torchlike.autograd.gradcheck(run, (a._values().clone().requires_grad_(), dense))


def test_sparse_gradients_are_added_to_each_other_and_to_strided_ones(s):
    x = torchlike.ones(2, 3, requires_grad=True)
    (x * s).to_dense().sum().backward()
    assert x.grad.is_sparse and x.grad.to_dense().tolist() == s.to_dense().tolist()
    (x * s).to_dense().sum().backward()
    assert x.grad.is_sparse and x.grad.to_dense().tolist() == (2 * s).to_dense().tolist()
    y = torchlike.ones(2, 3, requires_grad=True)
    y.sum().backward()
    (y * s).to_dense().sum().backward()
    assert not y.grad.is_sparse and y.grad.tolist() == (torchlike.ones(2, 3) + s).tolist()
    z = torchlike.ones(2, 3, requires_grad=True)
    (z.sum() + (z * s).to_dense().sum()).backward()
    assert z.grad.tolist() == y.grad.tolist()


# Mixed layouts and refusals.


def test_every_row_of_the_table_of_layouts_is_computed_with_its_layout():
    for name, rows in RESULTS.items():
        packet, _, overload = name.partition(".")
        op = getattr(getattr(torchlike.ops.aten, packet), overload or "default")
        for letters, layout in rows.items():
            shapes = [(2,) if name == "mv" and place else (2, 2) for place in range(len(letters))]
            made = [torchlike.ones(() if each == "0" else shape) for each, shape in zip(letters, shapes, strict=True)]
            made = [each.to_sparse() if letter == "s" else each for each, letter in zip(made, letters, strict=True)]
            assert op(*made).layout is getattr(torchlike, layout), (name, letters)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda s: s + 1, RuntimeError, r"add\(sparse, dense\) is not supported(.|\n)*Hint: to_dense"),
        (
            lambda s: s + torchlike.ones(2, 3),
            RuntimeError,
            r"add\(sparse, dense\) is not supported(.|\n)*Hint: to_dense",
        ),
        (lambda s: s.add_(torchlike.ones(2, 3)), RuntimeError, r"add\(sparse, dense\) is not supported"),
        (lambda s: s / s, RuntimeError, "Sparse division requires a scalar"),
        (lambda s: torchlike.ones(3) + s, RuntimeError, "does not currently support broadcasting"),
        (lambda s: s + s.t(), RuntimeError, "expected sizes of 'self' and 'other' to match"),
        (lambda s: s * s.t(), RuntimeError, "equal dimensionality"),
        (lambda s: s @ torchlike.ones(2, 2), RuntimeError, "cannot be multiplied|Expected dim 0 size 3"),
        (lambda s: s @ torchlike.ones(3, 2).double(), RuntimeError, "expected scalar type"),
        (lambda s: s.long() @ s.long().t(), NotImplementedError, "sparse_matmul"),
        (lambda s: s.mv(torchlike.ones(2)), RuntimeError, "expected self.size"),
        (lambda s: s**0, RuntimeError, "zeroth power"),
        (lambda s: s.indices(), RuntimeError, "uncoalesced tensor"),
        (lambda s: s.values(), RuntimeError, "uncoalesced tensor"),
        (lambda s: torchlike.ones(2).coalesce(), RuntimeError, "but got Strided(.|\n)*Hint: to_sparse"),
        (lambda s: torchlike.ones(2)._nnz(), NotImplementedError, "but got torchlike.strided"),
        (lambda s: s.transpose(0, 2), IndexError, "out of range"),
        (lambda s: s.permute(0), RuntimeError, "number of dimensions"),
        (lambda s: s.permute(0, 0), RuntimeError, "duplicate"),
        (lambda s: s.sum((0, 0)), RuntimeError, "appears multiple times"),
        (torchlike.exp, dc.NoKernelError, r"layout torchlike.sparse_coo(.|\n)*Hint: x.to_dense"),
        (lambda s: s[0:1], dc.NoKernelError, "no kernel for tensors of layout"),
        (lambda s: s == s, dc.NoKernelError, "no kernel for tensors of layout"),
        (lambda s: s.view(6), dc.NoKernelError, "no kernel for tensors of layout"),
        (lambda s: s.numpy(), TypeError, "numpy"),
        (lambda s: s.tolist(), TypeError, "not supported"),
        (lambda s: s.data_ptr(), TypeError, "data_ptr"),
        (lambda s: s.item(), RuntimeError, "a Tensor with 6 elements cannot be converted to Scalar"),
        (lambda s: s.to_sparse(1), RuntimeError, "conversion from Sparse to Sparse"),
        (lambda s: torchlike.ones(2).to_sparse(2), RuntimeError, r"must be in \[0,1\] range"),
        (lambda s: torchlike.ones(2).to_sparse(layout=torchlike.sparse_csr), RuntimeError, "needs 2 dimensions"),
        (lambda s: torchlike.sparse.spsolve(s, torchlike.ones(2)), RuntimeError, "a compressed matrix"),
        (lambda s: s.sparse_resize_, AttributeError, "it changes a sparse tensor's sizes"),
        (lambda s: s.index_select(0, torchlike.tensor([0, 2])), IndexError, "index contains 2 that is out of range"),
        (lambda s: s.narrow_copy(0, 1, 2), RuntimeError, "Invalid range to narrow(.|\\n)*Hint: start is 1"),
        (lambda s: s.norm(2, 0), RuntimeError, "only supports full reductions"),
        (lambda s: s.__setitem__(0, 1.0), TypeError, "Cannot assign to a sparse tensor(.|\\n)*Hint: "),
        (lambda s: torchlike.sparse.softmax(s, 2), IndexError, r"Dimension out of range .*got 2"),
        (lambda s: torchlike.sparse.softmax(s, 1.0), TypeError, "argument 'dim' must be int, not float"),
        (lambda s: torchlike.sparse.softmax(s, None), TypeError, "argument 'dim' must be int, not NoneType"),
        (
            lambda s: torchlike.sparse.log_softmax(s.long(), 0),
            NotImplementedError,
            "int64\nHint: dtype=torchlike.float32",
        ),
        (
            lambda s: torchlike.sparse.softmax(s.to_dense(), 0),
            RuntimeError,
            "softmax expected sparse .* but got Strided",
        ),
        (lambda s: torchlike.softmax(s, 0), dc.NoKernelError, "no kernel for tensors of layout"),
        (lambda s: torchlike.bmm(s, s), dc.NoKernelError, "no kernel for tensors of layout"),
        (lambda s: s.sparse_mask(torchlike.ones(2, 3)), NotImplementedError, "expected a sparse mask"),
        (lambda s: s.copy_(torchlike.ones(2, 3)), RuntimeError, "copy_.. between dense and sparse"),
        (lambda s: torchlike.sparse.mm(s, torchlike.ones(3, 2), "prod"), ValueError, "reduce"),
        (lambda s: torchlike.addmm(s, s, torchlike.ones(3, 3)), RuntimeError, "expected strided result"),
        (lambda s: s @ torchlike.ones(3, 2, device="meta"), RuntimeError, "same device"),
    ],
)
def test_refusals_name_what_was_asked(s, call, error, text):
    before = repr(s)
    with pytest.raises(error, match=text):
        call(s)
    assert repr(s) == before


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "text"),
    [
        (([[0, 1]], [1.0]), {}, RuntimeError, "nnz from indices: 2, nnz from values: 1"),
        (([0, 1], [1.0, 2.0]), {}, RuntimeError, r"sparse_dim x nnz, but got: \[2\]"),
        (([[0, 1]], [1.0, 2.0], (2, 2)), {}, RuntimeError, r"len\(size\) = 2, sparse_dim = 1, dense_dim = 0"),
        (([[0, 1]], 1.0), {}, RuntimeError, "same nnz"),
        (([[0, 2]], [1.0, 2.0], (2,)), {}, RuntimeError, "for dim 0, size is 2 but found index 2"),
        (([[0, -1]], [1.0, 2.0], (2,)), {}, RuntimeError, "found negative index -1 for dim 0"),
        (([[0, 1]], [1.0, 2.0], (-2,)), {}, RuntimeError, "negative dimension"),
        (([[1, 0]], [1.0, 2.0]), {"is_coalesced": True, "check_invariants": True}, RuntimeError, "uncoalesced"),
        (([[0, 1]], torchlike.ones(2, 3), (2, 4)), {}, RuntimeError, "values has incorrect size"),
        (("x", [1.0]), {}, TypeError, "invalid data type 'str' of indices"),
        ((2.5,), {}, TypeError, "expected a size"),
        (([[0]], [1.0]), {"layout": torchlike.sparse_csr}, RuntimeError, "the layout is"),
        (([[0]], torchlike.ones(1).to_sparse()), {}, RuntimeError, "expected values to have strided layout"),
    ],
)
def test_components_that_do_not_fit_are_refused(arguments, keywords, error, text):
    with pytest.raises(error, match=text):
        torchlike.sparse_coo_tensor(*arguments, **keywords)


def test_checks_can_be_switched():
    switch = torchlike.sparse.check_sparse_tensor_invariants
    bad = {"indices": [[1, 0]], "values": [1.0, 2.0], "is_coalesced": True}
    assert not switch.is_enabled() and torchlike.sparse_coo_tensor(**bad).is_coalesced()
    with switch(), pytest.raises(RuntimeError, match="uncoalesced"):
        torchlike.sparse_coo_tensor(**bad)
    assert torchlike.sparse_coo_tensor([[5]], [1.0], (2,), check_invariants=False)._nnz() == 1


# Devices, layers and copies.


def test_the_meta_device_knows_shapes():
    s = torchlike.sparse_coo_tensor(INDICES, [3.0, 4.0, 5.0], (2, 3)).to("meta")
    assert (
        s.is_meta
        and s.is_sparse
        and (s * 2).shape == (2, 3)
        and (s @ torchlike.ones(3, 4, device="meta")).shape == (2, 4)
    )
    assert "device='meta'" in repr(s) and s.to_dense().is_meta


def test_another_device_computes_by_operators():
    pytest.importorskip("array_api_strict", reason="no second device")
    s = torchlike.sparse_coo_tensor(INDICES, [3.0, 4.0, 5.0], (2, 3)).to("strict").requires_grad_()
    w = torchlike.ones(3, 2, device="strict", requires_grad=True)
    found = torchlike.sparse.mm(s, w)
    assert found.device.type == "strict" and found.cpu().tolist() == [[3.0, 3.0], [9.0, 9.0]]
    found.sum().backward()
    assert s.grad.cpu().to_dense().tolist() == [[0.0, 0.0, 2.0], [2.0, 0.0, 2.0]]
    assert (s + s).coalesce().cpu()._values().tolist() == [6.0, 8.0, 10.0]
    products = [s @ s.t(), torchlike.sparse.mm(s.t(), s)]
    expected = [s.cpu() @ s.cpu().t(), s.cpu().t() @ s.cpu()]
    for one, other in zip(products, expected, strict=True):
        assert one.device.type == "strict" and one.is_coalesced()
        assert one.indices().tolist() == other.indices().tolist() and one.values().tolist() == other.values().tolist()
    truths = torchlike.sparse_coo_tensor([[0, 0]], [True, False], (2,), device="strict")
    assert (torchlike.tensor([False, True], device="strict") + truths).tolist() == [True, True]


def test_a_pipeline_records_the_calls_on_the_components_and_counts_what_needs_values(s):
    with torchlike.pipeline() as pipeline:
        product, dense = s @ torchlike.ones(3, 2), (s * 2).to_dense()
        assert product._pending and dense._pending and not pipeline.stats().flushes
        recorded = pipeline.stats().recorded
        twice = (s * 2).coalesce()
        assert pipeline.stats().recorded > recorded and "coo::sum_duplicates" in str(pipeline.stats())
    assert product.tolist() == [[3.0, 3.0], [9.0, 9.0]] and dense.tolist() == (s * 2).to_dense().tolist()
    assert twice.values().tolist() == [6.0, 8.0, 10.0]


def test_a_captured_function_takes_a_sparse_tensor_for_its_components(s):
    calls = []

    @torchlike.capture
    def run(s, x):
        calls.append(1)
        return s @ x, s * 2

    for factor in range(1, 5):
        product, doubled = run(s, torchlike.ones(3, 1) * factor)
        assert product.tolist() == [[3.0 * factor], [9.0 * factor]] and doubled.to_dense()[0, 2] == 6.0
    assert len(calls) < 4


def test_layers_see_the_calls_on_the_components(s):
    with dc.trace() as trace:
        s @ torchlike.ones(3, 2)
    assert "coo::mm" in str(trace) and "aten::mm" not in str(trace)
    with dc.profile() as profile:
        s @ torchlike.ones(3, 2)
    assert {"aten::mm", "coo::mm"} <= {event.name for event in profile.events}


def test_transforms_take_and_capture_sparse_tensors(s):
    x = torchlike.ones(3, 2)
    found = torchlike.func.grad(lambda x: (s @ x).pow(2).sum())(x)
    assert found.tolist() == [[72.0, 72.0], [0.0, 0.0], [108.0, 108.0]]
    assert torchlike.func.grad(lambda s: (s @ x).sum())(s).tolist() == [[2.0] * 3] * 2
    own = torchlike.func.grad(lambda s: torchlike.sparse.sum(s * s))(s)
    assert own.is_sparse and own.to_dense().tolist() == (2 * s.to_dense()).tolist()
    assert torchlike.func.grad(lambda s: s.to_dense().sum())(s).is_sparse
    for found in (torchlike.func.jvp(lambda x: s @ x, (x,), (x,)), torchlike.func.jvp(lambda s: s @ x, (s,), (s,))):
        assert [each.tolist() for each in found] == [(s @ x).tolist()] * 2
    rows = torchlike.arange(12.0).reshape(4, 3)
    assert torchlike.vmap(lambda x: s @ x)(rows).tolist() == [(s @ row).tolist() for row in rows]
    doubled = torchlike.vmap(lambda row: row * 2)(s)
    assert doubled.is_sparse and doubled.to_dense().tolist() == (2 * s.to_dense()).tolist()
    assert torchlike.vmap(lambda row: row.to_dense().sum())(s).tolist() == s.to_dense().sum(1).tolist()
    with pytest.raises(RuntimeError, match="components of a sparse tensor are those of all rows"):
        torchlike.vmap(lambda row: row.coalesce().indices())(s)


def test_autocast_casts_sparse_matrices_too(s):
    with torchlike.autocast("cpu", dtype=torchlike.bfloat16):
        found = s @ torchlike.ones(3, 2)
    assert found.dtype is torchlike.bfloat16 and found.tolist() == [[3.0, 3.0], [9.0, 9.0]]


@pytest.mark.filterwarnings("ignore:(Anomaly|Error detected):UserWarning")
def test_modes_and_checks_of_backward_see_sparse_calls(s):
    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.name)
            return func(*args, **(kwargs or {}))

    seen = []
    with Watch():
        (s + s).to_dense()
    assert seen[:2] == ["aten::add.Tensor", "sparse::to_dense"]
    s.requires_grad_()
    with torchlike.autograd.detect_anomaly():
        torchlike.sparse.mm(s, torchlike.ones(3, 2)).sum().backward()
        broken = (s * float("nan")).to_dense().sum()
        with pytest.raises(RuntimeError, match="returned nan"):
            broken.backward()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda s: s * 2, "Tensor-likes are not close"),
        (lambda s: s.to_dense(), "'layout' do not match"),
        (lambda s: torchlike.ones(2, 3).to_sparse(), "number of specified values"),
        (
            lambda s: torchlike.sparse_coo_tensor([[0, 0, 1], [0, 1, 2]], [3.0, 4.0, 5.0], (2, 3)),
            "indices are not equal",
        ),
        (lambda s: s.to_dense().to_sparse(1), "number of sparse dimensions"),
    ],
)
def test_closeness_compares_places_and_values(s, change, text):
    torchlike.testing.assert_close(s, s.coalesce() + 1e-9 * s)
    torchlike.testing.assert_close(s, s.to_dense(), check_layout=False)
    with pytest.raises(AssertionError, match=text):
        torchlike.testing.assert_close(s, change(s))


def test_copies_and_pickles(s):
    s.requires_grad_()
    torchlike.sparse.sum(s).backward()
    for made in (copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert made.requires_grad and made.is_coalesced() == s.is_coalesced()
        assert made.to_dense().tolist() == s.to_dense().tolist() and made._values() is not s._values()
    assert copy.deepcopy(s).grad.to_dense().tolist() == s.grad.to_dense().tolist()
    assert s.double().dtype is torchlike.float64 and s.clone()._values() is not s._values()
    assert not s.detach().requires_grad and s.data.is_sparse and s.cpu() is s


def save_and_load(value):
    file = io.BytesIO()
    torchlike.save(value, file)
    file.seek(0)
    return torchlike.load(file)


def test_files_have_the_components(s):
    twice = torchlike.sparse_coo_tensor([[1, 1]], torchlike.ones(2, 3, dtype=torchlike.float64), (4, 3))
    whole = {"s": s.requires_grad_(), "again": s, "rest": [s.detach().coalesce(), torchlike.nn.Parameter(twice)]}
    found = save_and_load(whole)
    assert found["s"].requires_grad and found["again"] is found["s"] and not found["s"].is_coalesced()
    first, second = found["rest"]
    assert first.is_coalesced() and not first.requires_grad
    assert isinstance(second, torchlike.nn.Parameter) and second.requires_grad and second.dtype is torchlike.float64
    for one, other in ((found["s"], s), (first, s), (second, twice)):
        assert one.shape == other.shape and torchlike.equal(one.to_dense(), other.to_dense())
    assert second._nnz() == 2 and save_and_load(s.detach())._indices().tolist() == INDICES


def test_files_with_components_that_do_not_fit_are_refused(s):
    file = io.BytesIO()
    torchlike.save(s, file, format="safetensors")
    wrong = file.getvalue().replace(rb"\"size\":[2,3]", rb"\"size\":[2,1]")
    assert wrong != file.getvalue()
    with pytest.raises(ValueError, match="size is inconsistent with indices"):
        torchlike.load(io.BytesIO(wrong))


def test_factories_make_sparse_tensors_without_elements():
    coo, x = torchlike.sparse_coo, torchlike.eye(2).to_sparse()
    made = [
        torchlike.zeros(2, 3, layout=coo),
        torchlike.empty((2, 3), layout=coo, dtype=torchlike.float32, device="cpu"),
        torchlike.zeros_like(torchlike.ones(2, 3), layout=coo),
        torchlike.ones(1).new_zeros((2, 3), layout=coo),
        x.new_zeros((2, 3)),
        x.new_empty(2, 3),
    ]
    for each in made:
        assert (each.layout, each.shape, each.dtype, each._nnz()) == (coo, (2, 3), torchlike.float32, 0)
        assert each.to_dense().tolist() == [[0.0] * 3] * 2
    assert torchlike.zeros(2, layout=coo, device="meta").is_meta
    assert torchlike.zeros_like(x, device="meta").layout is coo
    leaf = torchlike.zeros((2, 2), layout=coo, requires_grad=True)
    (leaf + x).to_dense().sum().backward()
    assert leaf.grad.to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]  # in the places of the sum


def test_factories_make_strided_tensors_like_sparse_ones():
    x = torchlike.eye(2, dtype=torchlike.float64).to_sparse()
    assert torchlike.ones_like(x, layout=torchlike.strided).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert x.new_full((1,), 2.0, layout=torchlike.strided).dtype == torchlike.float64
    assert torchlike.ones(2, layout=torchlike.strided).tolist() == [1.0, 1.0]
    rows = torchlike.nested.nested_tensor([[1.0], [2.0, 3.0]], layout=torchlike.jagged)
    assert torchlike.zeros_like(rows, layout=torchlike.jagged).layout is torchlike.jagged
    with pytest.raises(
        NotImplementedError, match=r"zeros_like\(\): .* like one of layout torchlike.jagged\nHint: x.to_padded"
    ):
        torchlike.zeros_like(rows, layout=torchlike.strided)


def test_layouts_that_factories_do_not_make_are_refused_by_name():
    coo, x = torchlike.sparse_coo, torchlike.ones(2)
    calls = {
        "ones": lambda **given: torchlike.ones(2, **given),
        "full": lambda **given: torchlike.full((2,), 0.0, **given),
        "rand": lambda **given: torchlike.rand(2, generator=torchlike.Generator(), **given),
        "randint": lambda **given: torchlike.randint(3, (2,), **given),
        "arange": lambda **given: torchlike.arange(3, **given),
        "eye": lambda **given: torchlike.eye(2, **given),
        "empty_like": lambda **given: torchlike.empty_like(x, **given),
        "new_ones": lambda **given: x.new_ones((2,), **given),
    }
    for name, call in calls.items():
        with pytest.raises(
            NotImplementedError, match=rf"^{name}\(\): makes no tensors of layout torchlike.sparse_coo\nHint: .*to_sp"
        ):
            call(layout=coo)
        for other in ("strided", 1, torchlike.float32, True):
            with pytest.raises(TypeError, match=rf"^{name}\(\): argument 'layout' must be torchlike.layout, not"):
                call(layout=other)
    with pytest.raises(
        NotImplementedError, match=r"ones\(\): .* torchlike.sparse_csr\nHint: ones\(...\).to_sparse\(layout="
    ):
        torchlike.ones(2, 2, layout=torchlike.sparse_csr)
    with pytest.raises(
        NotImplementedError, match=r"zeros\(\): .* torchlike.jagged\nHint: torchlike.nested.nested_tensor"
    ):
        torchlike.zeros(2, 2, layout=torchlike.jagged)
    with pytest.raises(RuntimeError, match=r"layout torchlike.sparse_coo does not match layout of out parameter"):
        torchlike.zeros(2, layout=coo, out=x)
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        torchlike.zeros(2, -1, layout=coo)


def test_softmax_takes_the_elements_that_are_there():
    x = torchlike.sparse_coo_tensor([[1, 0, 0, 1], [1, 2, 0, 1]], [2.0, 0.0, 0.0, 3.0], (2, 3), requires_grad=True)
    found = torchlike.sparse.softmax(x, 1)
    assert found.is_coalesced() and found.indices().tolist() == [[0, 0, 1], [0, 2, 1]]
    assert found.values().tolist() == [0.5, 0.5, 1.0]
    assert torchlike.sparse.log_softmax(x, -1).values().tolist() == pytest.approx([-math.log(2), -math.log(2), 0.0])
    for again in (found, torchlike.sparse.softmax(x, -1)):
        x.grad = None
        (again.to_dense() * torchlike.tensor([[4.0, 9.0, 0.0], [9.0, 9.0, 9.0]])).sum().backward()
        assert x.grad.coalesce().values().tolist() == [1.0, -1.0, 0.0]


def test_softmax_has_second_derivatives_and_runs_in_pipelines():
    indices = torchlike.tensor([[0, 0, 1, 2], [0, 2, 1, 1]])

    def loss(values):
        x = torchlike.sparse_coo_tensor(indices, values, (3, 3))
        return (
            torchlike.sparse.softmax(x, 1).to_dense().square().sum()
            + torchlike.sparse.log_softmax(x, 0).to_dense().sum()
        )

    values = torchlike.tensor([1.0, 2.0, 0.5, -1.0], dtype=torchlike.float64, requires_grad=True)
    assert torchlike.autograd.gradcheck(loss, values) and torchlike.autograd.gradgradcheck(loss, values)
    with torchlike.pipeline():
        later = loss(values)
    assert later.item() == pytest.approx(loss(values).item())
    x = torchlike.zeros(2, 3, layout=torchlike.sparse_coo, device="meta")
    assert torchlike.sparse.softmax(x, 0).is_meta


def test_a_matrix_of_diagonals_has_their_history():
    lines = torchlike.arange(12.0).reshape(3, 4).requires_grad_()
    torchlike.sparse.spdiags(lines, torchlike.tensor([0, 1, -2]), (5, 4)).to_dense().pow(2).sum().backward()
    assert lines.grad.tolist() == [[0, 2, 4, 6], [0, 10, 12, 14], [16, 18, 20, 0]]
    outside = torchlike.sparse.spdiags(torchlike.ones(2, 3), torchlike.tensor([7, -9]), (3, 3))
    assert outside.shape == (3, 3) and outside._nnz() == 0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((torchlike.ones(2, 3, 1), torchlike.tensor([0, 1]), (3, 3)), RuntimeError, "must be vector or matrix"),
        ((torchlike.ones(2, 3), torchlike.tensor([[0, 1]]), (3, 3)), RuntimeError, "Offsets must be scalar or vector"),
        ((torchlike.ones(2, 3), torchlike.tensor([0, 1, 2]), (3, 3)), RuntimeError, r"\(2\) does not match .* \(3\)"),
        ((torchlike.ones(2, 3), torchlike.tensor([0, 1]), (3, 3, 3)), RuntimeError, "Output shape must be 2d"),
        ((torchlike.ones(2, 3), torchlike.tensor([1, 1]), (3, 3)), RuntimeError, "duplicate values"),
        ((torchlike.ones(2, 3), torchlike.tensor([0.0, 1.0]), (3, 3)), RuntimeError, "must have dtype Long"),
        ((torchlike.ones(2, 3), torchlike.tensor([0, 1]), (3, -3)), RuntimeError, "negative dimension"),
        ((torchlike.ones(2, 3), torchlike.tensor([0, 1]), (3, 3), torchlike.strided), RuntimeError, "the layout is"),
        ((torchlike.ones(2, 3), [0, 1], (3, 3)), TypeError, "'offsets' must be Tensor, not list"),
    ],
)
def test_diagonals_that_do_not_fit_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        torchlike.sparse.spdiags(*arguments)


@pytest.mark.parametrize("is_sparse", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_mask_lets_the_gradient_of_its_places_through_alone(is_sparse, seed):
    draw = np.random.default_rng(seed)
    places, within, elements = draw.random((3, 4)) < 0.5, draw.random((3, 4)) < 0.5, draw.random((3, 4))
    reductions = {
        "sum": lambda y: y.sum(),
        "product": lambda y: (y * 2).sum() / 2,
        "all places": lambda y: y.to_dense(masked_grad=False).sum(),
        "its places": lambda y: y.to_dense().sum(),
        "elements": lambda y: y.coalesce().values().sum(),
        "turned": lambda y: y.transpose(0, 1).sum(),
        "twice": lambda y: y.sparse_mask(y.detach()).sum(),
    }
    mask = torchlike.tensor(within * 1.0).to_sparse()
    for name, reduce in reductions.items():
        x = torchlike.tensor(places * elements)
        x = (x.to_sparse() if is_sparse else x).requires_grad_()
        reduce(x.sparse_mask(mask)).backward()
        assert x.grad.to_dense().tolist() == (within * 1.0).tolist(), name


def test_one_number_is_the_only_element():
    x = torchlike.sparse_coo_tensor([[2]], 3.0, (4,))
    assert x.to_dense().tolist() == [0.0, 0.0, 3.0, 0.0]
    number = torchlike.tensor(2.0, requires_grad=True)
    torchlike.sparse_coo_tensor([[0], [1]], number, (2, 2)).to_dense().sum().backward()
    assert number.grad.item() == 1.0
    with pytest.raises(RuntimeError, match="must have same nnz"):
        torchlike.sparse_coo_tensor([[0, 1]], 3.0, (4,))


@pytest.mark.parametrize("index", [[-1, 0], [-2, -2, 1], [1, -1, 0, -2]])
def test_places_may_count_from_the_end_in_sparse_dimensions(index):
    whole = torchlike.tensor([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [3.0, 4.0]]])
    x = whole.to_sparse(2)
    for dim in (0, 1):
        found = x.index_select(dim, torchlike.tensor(index))
        assert found.to_dense().tolist() == whole.index_select(dim, torchlike.tensor(index) % 2).tolist()
        with pytest.raises(IndexError):
            x.index_select(dim, torchlike.tensor([-3]))
    with pytest.raises(IndexError):
        x.index_select(2, torchlike.tensor(index))


@pytest.mark.parametrize("alpha", [1, 2])
def test_zero_is_added_whatever_it_counts_as_dense(alpha):
    whole = torchlike.tensor([[[1, 0], [0, 2]], [[0, 0], [3, 4]]])
    x, zero = whole.to_sparse(2), torchlike.sparse_coo_tensor((2, 2, 2))
    for one, other, factor in ((x, zero, 1), (zero, x, alpha)):
        found = torchlike.add(one, other, alpha=alpha)
        assert (found.dtype, found.to_dense().tolist()) == (torchlike.float32, (whole * factor).tolist())
    changed = zero.clone()
    assert changed.add_(x).to_dense().tolist() == whole.tolist()
    with pytest.raises(RuntimeError, match="same number of sparse dimensions"):
        x + whole.to_sparse(1)


@pytest.mark.parametrize("rest", [(0,), (2, 0), (0, 2)])
@pytest.mark.parametrize("masked", [True, False])
def test_gradients_of_tensors_with_empty_dense_dimensions_are_checked(rest, masked):
    values = torchlike.empty(3, *rest, dtype=torchlike.float64)
    tensor = torchlike.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], values, (2, 3, *rest)).requires_grad_()
    assert torchlike.autograd.gradcheck(lambda each: each.to_dense(masked_grad=masked), (tensor,), masked=masked)


def test_functions_of_two_tensors_write_outputs():
    s = torchlike.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    for call, wanted in (
        (lambda out: torchlike.add(s, s, alpha=2, out=out), [[0, 6], [9, 0]]),
        (lambda out: torchlike.mul(s, torchlike.ones(2), out=out), [[0, 2], [3, 0]]),
        (lambda out: torchlike.div(s, 2, out=out), [[0, 1], [1.5, 0]]),
        (lambda out: torchlike.div(s, 2, rounding_mode="floor", out=out), [[0, 1], [1, 0]]),
        (lambda out: torchlike.mm(s, s, out=out), [[6, 0], [0, 6]]),
        (lambda out: torchlike.arctan(s * 0, out=out), [[0, 0], [0, 0]]),
        (lambda out: torchlike.zeros((1, 2), out=out), [[0, 0]]),
    ):
        out = torchlike.sparse_coo_tensor((0, 0), dtype=torchlike.float64)
        assert call(out) is out and out.is_sparse and out.to_dense().tolist() == wanted
    strided = torchlike.empty(0)
    assert torchlike.matmul(s, torchlike.eye(2), out=strided) is strided and torchlike.equal(strided, s.to_dense())
    assert torchlike.mm(s, s, out=s) is s and s.to_dense().tolist() == [[6, 0], [0, 6]]
    for out, text in (
        (torchlike.empty(2, 2), "the result is sparse, and out is strided"),
        (torchlike.eye(2).to_sparse().long(), "can't be cast to the desired output type Long"),
        (torchlike.ones(3, 3).to_sparse(), "shrinking the size of dimensions"),
    ):
        before = out.to_dense().tolist()
        with pytest.raises(RuntimeError, match=text):
            torchlike.mul(s, s, out=out)
        assert out.to_dense().tolist() == before


@pytest.mark.parametrize("masked", [False, True])
def test_a_function_that_compares_gradients_of_strided_tensors_takes_sparse_ones(masked):
    given = []

    def check(function, inputs, **options):
        given.append(([each.layout for each in inputs], options))
        return torchlike.autograd.gradcheck(function, inputs, **options)

    x = torchlike.tensor([[0.0, 1.5], [2.0, 0.0]], dtype=torchlike.float64).to_sparse().requires_grad_()
    d = torchlike.ones(2, 2, dtype=torchlike.float64, requires_grad=True)
    compare = torchlike.sparse.as_sparse_gradcheck(check)
    assert compare.__name__ == "check"
    assert compare(lambda s, d: (s * 2, torchlike.sparse.mm(s, d)), (x, d), masked=masked, atol=1e-4)
    assert given == [([torchlike.strided] * 2, {"atol": 1e-4})]
