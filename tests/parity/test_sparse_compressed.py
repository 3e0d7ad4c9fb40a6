"""Compressed sparse tensors beside torch: values, layouts, dtypes of elements and indices, gradients, files, refusals.

Generated inputs: the four layouts, dtypes, dtypes of indices, batches, dense dimensions and blocks. Where torch refuses and
we compute, the result is compared with that of strided tensors.
"""

import copy
import io
import pickle
import warnings
import zlib

import numpy as np
import pytest
import torch

import torchlike

warnings.filterwarnings("ignore", message="Sparse (CSR|CSC|BSR|BSC) tensor support", category=UserWarning)
pytestmark = pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC|BSR|BSC) tensor support:UserWarning")
torch.sparse.check_sparse_tensor_invariants.disable()  # a choice, without which torch warns

LAYOUTS = ("csr", "csc", "bsr", "bsc")
#: dtype, dtype of the indices, sizes of the batch, dense sizes, blocks.
KINDS = {
    "usual": ("float32", "int64", (), (), (2, 2)),
    "int32 indices": ("float64", "int32", (), (), (1, 2)),
    "batch": ("float32", "int64", (2,), (), (2, 1)),
    "batch of batches": ("float64", "int32", (2, 3), (), (2, 2)),
    "dense": ("float32", "int64", (), (2,), (2, 2)),
    "batch and dense": ("float64", "int64", (2,), (3,), (1, 1)),
    "complex": ("complex64", "int64", (), (), (2, 2)),
    "integers": ("int64", "int64", (), (), (2, 2)),
    "short integers": ("int32", "int32", (), (), (2, 2)),
    "half": ("float16", "int64", (), (), (2, 2)),
    "bfloat16": ("bfloat16", "int64", (), (), (2, 2)),
    "bool": ("bool", "int64", (), (), (2, 2)),
    "empty": ("float32", "int64", (), (), (2, 2)),
    "large": ("float64", "int64", (), (), (4, 2)),
}
NO_GRADIENTS = {"integers", "short integers", "bool"}


def elements(seed, *shape, dtype="float32", density=None):
    numbers = np.random.default_rng(seed)
    found = numbers.integers(-4, 5, shape).astype("float64") / 2
    if dtype.startswith("complex"):
        found = found + 1j * numbers.integers(-4, 5, shape)
    return found if density is None else found * (numbers.random(shape) < density)


def strided(frontend, seed, *shape, dtype="float32"):
    return frontend.from_numpy(elements(seed, *shape, dtype=dtype)).to(getattr(frontend, dtype))


def make(frontend, name, kind, seed=0, layout=None, square=True):
    """Return a tensor of a layout and a kind; all matrices of a batch have their elements in the same places."""
    dtype, index, batch, dense, block = KINDS[kind]
    size = (8, 12) if kind == "large" else (4, 4) if square else (4, 6)
    mask = np.random.default_rng(seed).random(size) < (0 if kind == "empty" else 0.4)
    whole = elements(seed + 1, *batch, *size, *dense, dtype=dtype)
    whole = np.where(mask.reshape(*size, *[1] * len(dense)), np.where(whole == 0, 1, whole), 0)
    made = torch.from_numpy(whole).to(getattr(torch, dtype))
    layout = layout or name
    options = {"blocksize": block} if layout[0] == "b" else {}
    made = made.to_sparse(layout=getattr(torch, f"sparse_{layout}"), dense_dim=len(dense), **options)
    parts = (made.crow_indices(), made.col_indices()) if layout[2] == "r" else (made.ccol_indices(), made.row_indices())
    indices = [each.to(getattr(torch, index)).numpy() for each in parts]
    values = made.values()
    return frontend.sparse_compressed_tensor(
        *(frontend.from_numpy(each.copy()) for each in indices),
        frontend.from_numpy(values.to(torch.complex128 if values.is_complex() else torch.float64).numpy().copy()).to(getattr(frontend, dtype)),
        tuple(made.shape),
        layout=getattr(frontend, f"sparse_{layout}"),
    )


def read(tensor):
    tensor = tensor.detach()
    if tensor.dtype in (torch.bfloat16, torchlike.bfloat16):
        tensor = tensor.float()
    return np.asarray(tensor.resolve_conj().numpy())


def describe(found):
    """Return all of a result: the layout, sizes and dtype, and the components."""
    if not isinstance(found, (torch.Tensor, torchlike.Tensor)):
        return [found]
    layout = str(found.layout).rpartition(".")[2]
    facts = [layout, str(found.dtype).rpartition(".")[2], tuple(found.shape)]
    if layout == "strided":
        return [*facts, read(found)]
    if layout == "sparse_coo":
        whole = found.detach().coalesce()
        return [*facts, read(whole.indices()), read(whole.values())]
    names = ("crow_indices", "col_indices") if layout[-1] == "r" else ("ccol_indices", "row_indices")
    indices = [getattr(found, name)() for name in names]
    facts += [str(each.dtype).rpartition(".")[2] for each in indices]
    return [*facts, *map(read, indices), read(found.detach().values())]


def agree(found, wanted, tolerance=1e-5):
    assert len(found) == len(wanted), (found[0], wanted[0])
    for one, other in zip(found, wanted, strict=True):
        if isinstance(other, np.ndarray):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
        else:
            assert one == other


KEEP_ZEROS = (
    "abs sign sgn relu sqrt sin sinh tan tanh asin asinh atan atanh ceil floor trunc round frac expm1 log1p erf erfinv"
    " deg2rad rad2deg neg positive isposinf isneginf signbit isnan isinf conj_physical conj angle square nan_to_num"
).split()
UNARY = {
    **{name: lambda f, s, name=name: getattr(f, name)(s) for name in KEEP_ZEROS},
    **{
        f"{name}_": lambda f, s, name=name: getattr(s.clone(), f"{name}_")()
        for name in KEEP_ZEROS
        if hasattr(torch.Tensor, f"{name}_") and name not in ("isposinf", "isneginf", "signbit", "positive")
    },
    **{f"{name} with out": lambda f, s, name=name: getattr(f, name)(s, out=s.clone()) for name in ("sin", "abs", "neg", "floor")},
    "to_dense": lambda f, s: s.to_dense(),
    "to_sparse": lambda f, s: s.to_sparse(),
    "to_sparse_csr": lambda f, s: s.to_sparse_csr(),
    "to_sparse_csc": lambda f, s: s.to_sparse_csc(),
    "to_sparse_bsr": lambda f, s: s.to_sparse_bsr((2, 2)),
    "to_sparse_bsc": lambda f, s: s.to_sparse_bsc((2, 1)),
    "to_sparse strided": lambda f, s: s.to_sparse(layout=f.strided),
    "values": lambda f, s: s.values(),
    "clone": lambda f, s: s.clone(),
    "detach": lambda f, s: s.detach(),
    "to float64": lambda f, s: s.to(f.float64),
    "half": lambda f, s: s.half(),
    "zeros_like": lambda f, s: f.zeros_like(s),
    "ones_like": lambda f, s: f.ones_like(s),
    "full_like": lambda f, s: f.full_like(s, 3),
    "ones_like of another dtype": lambda f, s: f.ones_like(s, dtype=f.int64),
    "zero_": lambda f, s: s.clone().zero_(),
    "fill_": lambda f, s: s.clone().fill_(3),
    "new_zeros": lambda f, s: s.new_zeros(3, 5),
    "new_ones": lambda f, s: s.new_ones(3, 5),
    "copy_": lambda f, s: f.full_like(s, 2).copy_(s),
    "t": lambda f, s: s.t(),
    "transpose": lambda f, s: s.transpose(-2, -1) if not s.dense_dim() else s.transpose(-3, -2),
    "transpose of one": lambda f, s: s.transpose(0, 0),
    "transpose of other kinds": lambda f, s: s.transpose(0, -1),
    "transpose of a batch": lambda f, s: s.transpose(0, 1),
    "mT": lambda f, s: s.mT,
    "select": lambda f, s: s.select(0, 1),
    "select last": lambda f, s: s.select(-1, -1),
    "select beyond": lambda f, s: s.select(0, 9),
    "an index": lambda f, s: s[0],
    "sum": lambda f, s: s.sum(),
    "sum to float64": lambda f, s: s.sum(dtype=f.float64),
    "sum over 0": lambda f, s: s.sum(0, keepdim=True),
    "sum over 1": lambda f, s: s.sum(1, keepdim=True),
    "sum over 0 and 1": lambda f, s: s.sum((0, 1), keepdim=True),
    "sum away": lambda f, s: s.sum(1),
    "sparse.sum": lambda f, s: f.sparse.sum(s),
    "times a number": lambda f, s: s * 3,
    "a number times": lambda f, s: 2.5 * s,
    "times a number in place": lambda f, s: s.clone().mul_(2),
    "divided by a number": lambda f, s: s / 2,
    "divided by a number in place": lambda f, s: s.clone().div_(2),
    "a power": lambda f, s: s**2,
    "plus a number": lambda f, s: s + 1,
    "exp": lambda f, s: s.exp(),
    "mean": lambda f, s: s.mean(),
    "reshape": lambda f, s: s.reshape(-1),
    "resize_": lambda f, s: s.clone().resize_(8, 4) if s.dim() == 2 else s.clone().resize_(8),
    "resize_ columns": lambda f, s: s.clone().resize_(4, 8),
    "resize_as_sparse_": lambda f, s: s.clone().resize_as_sparse_(s),
    "triangular_solve": lambda f, s: f.triangular_solve(f.ones(4, 2, dtype=s.dtype), s)[0],
}
BINARY = {
    "add": lambda f, s, o, d: s + o,
    "add with alpha": lambda f, s, o, d: f.add(s, o, alpha=2),
    "add strided": lambda f, s, o, d: s + d,
    "strided add": lambda f, s, o, d: f.add(d, s, alpha=3),
    "strided add in place": lambda f, s, o, d: d.clone().add_(s),
    "add in place": lambda f, s, o, d: s.clone().add_(o),
    "sub": lambda f, s, o, d: s - o,
    "sub strided": lambda f, s, o, d: s - d,
    "mul": lambda f, s, o, d: s * o,
    "mul strided": lambda f, s, o, d: s * d,
    "strided mul": lambda f, s, o, d: d * s,
    "mul in place": lambda f, s, o, d: s.clone().mul_(o),
    "mul strided in place": lambda f, s, o, d: s.clone().mul_(d),
    "times a tensor of a number": lambda f, s, o, d: s * d.reshape(-1)[1],
    "matmul": lambda f, s, o, d: s @ o,
    "matmul strided": lambda f, s, o, d: s @ d,
    "strided matmul": lambda f, s, o, d: d @ s,
    "mm": lambda f, s, o, d: f.mm(s, d),
    "mm with out": lambda f, s, o, d: f.mm(s, d, out=f.empty(0, dtype=d.dtype)),
    "mv": lambda f, s, o, d: f.mv(s, d[..., 0]),
    "matmul of a vector": lambda f, s, o, d: s @ d[0],
    "addmv": lambda f, s, o, d: f.addmv(d[0], s, d[1], beta=2, alpha=3),
    "bmm": lambda f, s, o, d: f.bmm(s, d),
    "strided bmm": lambda f, s, o, d: f.bmm(d, s),
    "addmm": lambda f, s, o, d: f.addmm(d, s, d, beta=2, alpha=3),
    "addmm of strided and sparse": lambda f, s, o, d: f.addmm(d, d, s),
    "addmm of sparse ones": lambda f, s, o, d: f.addmm(s, s, o, beta=2, alpha=3),
    "addmm of sparse ones to strided": lambda f, s, o, d: f.addmm(d, s, o),
    "addmm in place": lambda f, s, o, d: d.clone().addmm_(s, d),
    "sparse.addmm": lambda f, s, o, d: f.sparse.addmm(d, s, d),
    "sparse.mm": lambda f, s, o, d: f.sparse.mm(s, d),
    "sparse.mm of sparse ones": lambda f, s, o, d: f.sparse.mm(s, o),
    "sparse.mm of strided and sparse": lambda f, s, o, d: f.sparse.mm(d, s),
    **{f"sparse.mm {name}": lambda f, s, o, d, name=name: f.sparse.mm(s, d, name) for name in ("sum", "mean", "amax", "amin")},
    "sparse.mm by another name": lambda f, s, o, d: f.sparse.mm(s, d, "max"),
    "sampled_addmm": lambda f, s, o, d: f.sparse.sampled_addmm(s, d, d, beta=2.0, alpha=3.0),
    "linear": lambda f, s, o, d: f.nn.functional.linear(d, s),
    "linear with bias": lambda f, s, o, d: f.nn.functional.linear(d, s, d[0]),
    "sparse_mask of strided": lambda f, s, o, d: d.sparse_mask(s),
    "sparse_mask": lambda f, s, o, d: o.sparse_mask(s),
    "sparse_mask of coordinates": lambda f, s, o, d: o.to_sparse().sparse_mask(s),
    "copy_ of others": lambda f, s, o, d: s.clone().copy_(o),
    "copy_ of strided": lambda f, s, o, d: s.clone().copy_(d),
    "double": lambda f, s, o, d: s @ d.double(),
}
#: What differs from torch by choice: the case, and the reason.
APART = {
    "isreal": "torch refuses",
}


def call(frontend, function, inputs):
    try:
        return function(frontend, *inputs), None
    except Exception as error:  # noqa: BLE001  # compared
        return None, error


def check(function, make_inputs, kind, is_alike=None):
    """Compare a call; where torch refuses and we compute, with that of strided tensors."""
    wanted, refusal = call(torch, function, make_inputs(torch))
    found, error = call(torchlike, function, make_inputs(torchlike))
    tolerance = 2e-2 if kind in ("half", "bfloat16") else 1e-5
    if refusal is None:
        assert error is None, f"torch gives {wanted.layout}, ours {error!r}"
        agree(describe(found), describe(wanted), tolerance)
    elif error is not None:
        assert isinstance(error, next(each for each in (TypeError, ValueError, IndexError, RuntimeError) if isinstance(refusal, each))), (refusal, error)
    else:
        inputs = [each.to_dense() for each in make_inputs(torch)]
        dense, impossible = call(torch, function, inputs)
        if impossible is None and isinstance(dense, torch.Tensor):
            if dense.layout is not torch.strided:
                dense = dense.to_dense()
            agree([read(found.to_dense())], [read(dense)], tolerance)


def inputs_for(name, kind, other=None, seed=0):
    dtype, _, batch, dense, _ = KINDS[kind]

    def make_inputs(frontend):
        size = (8, 12) if kind == "large" else (4, 4)
        s = make(frontend, name, kind, seed)
        if other is None:
            return [s]
        return [s, make(frontend, name, kind, seed + 5, layout=other), strided(frontend, seed + 9, *batch, *size, *dense, dtype=dtype)]

    return make_inputs


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("case", UNARY)
def test_functions_of_one_tensor(case, name, kind):
    check(UNARY[case], inputs_for(name, kind), kind)


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", LAYOUTS)
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("case", BINARY)
def test_functions_of_several_tensors(case, name, other, kind):
    if other != name and zlib.crc32(f"{case}{name}{other}{kind}".encode()) % 4:
        return
    check(BINARY[case], inputs_for(name, kind, other), kind)
