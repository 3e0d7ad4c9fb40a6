"""Compressed sparse tensors beside torch: values, layouts, dtypes of elements and indices, gradients, files, refusals.

Generated inputs: the four layouts, dtypes, dtypes of indices, batches, dense dimensions and blocks. Where torch refuses and
we compute, the result is compared with that of strided tensors.
"""

import copy
import io
import pickle
import re
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


def make_strided(frontend, seed, *shape, dtype="float32"):
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
        frontend.from_numpy(values.to(torch.complex128 if values.is_complex() else torch.float64).numpy().copy()).to(
            getattr(frontend, dtype)
        ),
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
    **{
        f"{name} with out": lambda f, s, name=name: getattr(f, name)(s, out=s.clone())
        for name in ("sin", "abs", "neg", "floor")
    },
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
    **{
        f"sparse.mm {name}": lambda f, s, o, d, name=name: f.sparse.mm(s, d, name)
        for name in ("sum", "mean", "amax", "amin")
    },
    "sampled_addmm": lambda f, s, o, d: f.sparse.sampled_addmm(s, d, d, beta=2.0, alpha=3.0),
    "linear": lambda f, s, o, d: f.nn.functional.linear(d, s),
    "linear with bias": lambda f, s, o, d: f.nn.functional.linear(d, s, d[0]),
    "sparse_mask of strided": lambda f, s, o, d: d.sparse_mask(s),
    "sparse_mask": lambda f, s, o, d: o.sparse_mask(s),
    "sparse_mask of coordinates": lambda f, s, o, d: o.to_sparse().sparse_mask(s),
    "copy_ of others": lambda f, s, o, d: s.clone().copy_(o),
    "copy_ of strided": lambda f, s, o, d: s.clone().copy_(d),
    "another dtype": lambda f, s, o, d: s @ d.to(f.complex128),
}
#: Calls that torch answers with broken tensors, reads foreign memory in or takes for others: the kinds that it is not asked.
SEVERAL = {kind for kind, (_, _, batch, dense, _) in KINDS.items() if batch or dense}
UNSOUND = {
    **dict.fromkeys(
        (each for each in BINARY if "add" in each and "mm" not in each and "mv" not in each),
        frozenset(SEVERAL | {"empty"}),
    ),
    **dict.fromkeys(("matmul", "another dtype", "addmm of sparse ones", "sum over 0 and 1"), frozenset({"empty"})),
    "resize_ columns": SEVERAL,
}


def is_sound(found):
    """Return whether the components of a result of torch's fit."""
    if not isinstance(found, torch.Tensor) or found.layout in (torch.strided, torch.sparse_coo):
        return True
    found = found.detach()
    names = ("crow_indices", "col_indices") if str(found.layout)[-1] == "r" else ("ccol_indices", "row_indices")
    parts = [getattr(found, each)() for each in names]
    try:
        torch._validate_sparse_compressed_tensor_args(*parts, found.values(), found.shape, found.layout)
    except RuntimeError:
        return False
    return True


def call(frontend, function, inputs):
    try:
        return function(frontend, *inputs), None
    except Exception as error:  # noqa: BLE001  # compared
        return None, error


def read_densely(found):
    return [read(found.to_dense())]


def check(case, function, make_inputs, kind, *, is_dense=False):
    """Compare a call; where torch refuses and we compute, with that of strided tensors."""
    wanted, refusal = None, RuntimeError("torch is not asked")
    if kind not in UNSOUND.get(case, ()):
        wanted, refusal = call(torch, function, make_inputs(torch))
        if refusal is None and not is_sound(wanted):
            refusal = RuntimeError("torch gives a broken tensor")
    found, error = call(torchlike, function, make_inputs(torchlike))
    tolerance = 2e-2 if kind in ("half", "bfloat16") else 1e-5
    if refusal is None:
        assert error is None, f"torch gives {wanted.layout}, ours {error!r}"
        agree(*(map(read_densely, (found, wanted)) if is_dense else map(describe, (found, wanted))), tolerance)
    elif error is not None:
        assert isinstance(
            error, next(each for each in (TypeError, ValueError, IndexError, RuntimeError) if isinstance(refusal, each))
        ), (refusal, error)
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
        return [
            s,
            make(frontend, name, kind, seed + 5, layout=other),
            make_strided(frontend, seed + 9, *batch, *size, *dense, dtype=dtype),
        ]

    return make_inputs


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("case", UNARY)
def test_functions_of_one_tensor(case, name, kind):
    if case.startswith("resize_") and name != "csr":
        return  # which torch takes for rows
    check(case, UNARY[case], inputs_for(name, kind), kind)


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", LAYOUTS)
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("case", BINARY)
def test_functions_of_several_tensors(case, name, other, kind):
    if other != name and zlib.crc32(f"{case}{name}{other}{kind}".encode()) % 4:
        return
    # Of products with others torch keeps more zeros.
    is_dense = case in ("mul", "mul in place") and other != "csr"
    check(case, BINARY[case], inputs_for(name, kind, other), kind, is_dense=is_dense)


# Gradients.

GRADIENTS = {
    "to_dense": lambda f, s, o, d: s.to_dense(),
    "to_dense of all places": lambda f, s, o, d: s.to_dense(masked_grad=False),
    "values": lambda f, s, o, d: s.values(),
    "to_sparse": lambda f, s, o, d: s.to_sparse(),
    "to_sparse_csc": lambda f, s, o, d: s.to_sparse_csc(),
    "to_sparse_bsr": lambda f, s, o, d: s.to_sparse_bsr((2, 2)),
    "from strided": lambda f, s, o, d: d.to_sparse(
        layout=s.layout, blocksize=(2, 2) if "bs" in str(s.layout) else None
    ),
    "from coordinates": lambda f, s, o, d: d.to_sparse().to_sparse_csr(),
    "clone": lambda f, s, o, d: s.clone(),
    "to float32": lambda f, s, o, d: s.float(),
    "t": lambda f, s, o, d: s.t(),
    "neg": lambda f, s, o, d: -s,
    "relu": lambda f, s, o, d: s.relu(),
    "abs": lambda f, s, o, d: s.abs(),
    "sin": lambda f, s, o, d: s.sin(),
    "sum": lambda f, s, o, d: s.sum(),
    "sum of values": lambda f, s, o, d: s.values().sum(),
    "select": lambda f, s, o, d: s[1],
    "times a number": lambda f, s, o, d: s * 2.5,
    "mul": lambda f, s, o, d: s * o,
    "mul strided": lambda f, s, o, d: s * d.detach(),
    "add": lambda f, s, o, d: s + o,
    "strided add": lambda f, s, o, d: d + s,
    "matmul": lambda f, s, o, d: s @ o,
    "matmul strided": lambda f, s, o, d: s @ d,
    "strided matmul": lambda f, s, o, d: d @ s,
    "mv": lambda f, s, o, d: s @ d[0],
    "addmm": lambda f, s, o, d: f.addmm(d, s, d, beta=2, alpha=3),
    "sparse.mm": lambda f, s, o, d: f.sparse.mm(s, d),
    "sparse.mm of sparse ones": lambda f, s, o, d: f.sparse.mm(s, o),
    "sparse.mm sum": lambda f, s, o, d: f.sparse.mm(s, d, "sum"),
    "sparse.mm mean": lambda f, s, o, d: f.sparse.mm(s, d, "mean"),
    "sparse.mm amax": lambda f, s, o, d: f.sparse.mm(s, d, "amax"),
    "sampled_addmm": lambda f, s, o, d: f.sparse.sampled_addmm(s, d, d, beta=2.0, alpha=3.0),
    "linear": lambda f, s, o, d: f.nn.functional.linear(d, s, d[0]),
    "sparse_mask": lambda f, s, o, d: d.sparse_mask(s.detach()),
    "made of values": lambda f, s, o, d: f.sparse_csr_tensor([0, 1, 2], [1, 0], d[0, :2], (2, 2)),
}


def differentiate(frontend, function, inputs):
    inputs = [each.requires_grad_() for each in inputs]
    found = function(frontend, *inputs)
    whole = found.to_dense() if found.layout is not frontend.strided else found
    weights = frontend.arange(1.0, 1.0 + whole.numel(), dtype=frontend.float64).to(whole.dtype).reshape(whole.shape)
    (whole * weights).sum().abs().backward()
    return [each.grad for each in inputs]


@pytest.mark.parametrize("dtype", ["float64", "complex"])
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("case", GRADIENTS)
def test_gradients(case, name, dtype):
    kind = "int32 indices" if dtype == "float64" else dtype
    make_inputs = inputs_for(name, kind, name)

    wanted, refusal = call(torch, lambda f, *inputs: differentiate(f, GRADIENTS[case], inputs), make_inputs(torch))
    found, error = call(torchlike, lambda f, *inputs: differentiate(f, GRADIENTS[case], inputs), make_inputs(torchlike))
    if refusal is not None:
        dense = [each.to_dense() for each in make_inputs(torch)]
        wanted, impossible = call(torch, lambda f, *inputs: differentiate(f, GRADIENTS[case], inputs), dense)
        if error is not None or impossible is not None:
            assert error is None or isinstance(error, RuntimeError)
            return
        for one, other, given in zip(found, wanted, dense, strict=True):
            if one is not None and other is not None:  # of all places, or of those of the tensor
                shown, places = read(one.to_dense()), 1 if one.layout is torchlike.strided else read(given) != 0
                np.testing.assert_allclose(shown * places, read(other) * places, rtol=1e-5, atol=1e-5)
        return
    assert error is None
    for one, other in zip(found, wanted, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert str(one.layout).rpartition(".")[2] == str(other.layout).rpartition(".")[2]
            agree([read(one.to_dense())], [read(other.to_dense())])


@pytest.mark.parametrize("name", LAYOUTS)
def test_gradients_of_leaves_add_up(name):
    s = make(torchlike, name, "usual").requires_grad_()
    for _ in range(2):
        s.to_dense().sum().backward()
    assert s.grad.layout is s.layout
    np.testing.assert_allclose(read(s.grad.values()), np.full(s.values().shape, 2.0))


# Creation.

BAD = {
    "does not begin with 0": ([1, 1, 2], [0, 1], [1.0, 2.0], (2, 2)),
    "does not end with the number": ([0, 1, 3], [0, 1], [1.0, 2.0], (2, 2)),
    "goes down": ([0, 2, 1, 2], [0, 1], [1.0, 2.0], (3, 2)),
    "too many in a row": ([0, 3, 3], [0, 1, 1], [1.0, 2.0, 3.0], (2, 2)),
    "beyond the columns": ([0, 1, 2], [0, 2], [1.0, 2.0], (2, 2)),
    "negative": ([0, 1, 2], [0, -1], [1.0, 2.0], (2, 2)),
    "not sorted": ([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2)),
    "twice": ([0, 2, 2], [1, 1], [1.0, 2.0], (2, 2)),
    "too few rows": ([0, 2], [0, 1], [1.0, 2.0], (2, 2)),
    "too few values": ([0, 1, 2], [0, 1], [1.0], (2, 2)),
    "too many dimensions of the size": ([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2, 2)),
    "too few dimensions of the size": ([0, 1, 2], [0, 1], [1.0, 2.0], (2,)),
    "other batches": ([[0, 1, 2]], [[0, 1]], [[1.0, 2.0]], (2, 2, 2)),
    "indices of other dimensions": ([[0, 1, 2]], [0, 1], [1.0, 2.0], (2, 2)),
    "no dimensions": (0, 0, 1.0, (1, 1)),
    "a negative size": ([0, 1, 2], [0, 1], [1.0, 2.0], (2, -2)),
}


def is_refused(frontend, name, case, **options):
    compressed, plain, values, size = BAD[case]
    if name in ("csc", "bsc"):
        size = (*size[:-2], *size[-2:][::-1])
    if name[0] == "b":
        values = np.asarray(values)[..., None, None].tolist()
    try:
        getattr(frontend, f"sparse_{name}_tensor")(compressed, plain, values, size, **options)
    except (RuntimeError, TypeError):
        return True
    return False


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("case", BAD)
def test_components_that_do_not_fit_are_refused(case, name):
    # Those that are not in order are sorted.
    assert is_refused(torch, name, case, check_invariants=True) and is_refused(torchlike, name, case) != (
        case == "not sorted"
    )
    assert is_refused(torchlike, name, case, check_invariants=True)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("case", KINDS)
def test_sizes_are_guessed_from_indices(name, case):
    found = []
    for frontend in (torch, torchlike):
        made = make(frontend, name, case)
        names = ("crow_indices", "col_indices") if name[-1] == "r" else ("ccol_indices", "row_indices")
        parts = [getattr(made, each)() for each in names]
        found.append(describe(getattr(frontend, f"sparse_{name}_tensor")(*parts, made.values())))
    if case == "empty":  # where torch gives a size of no columns, and so do we
        found = [each[:3] for each in found]
    agree(found[1], found[0])


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
@pytest.mark.parametrize("name", ["zeros", "empty"])
@pytest.mark.parametrize("size", [(2, 3), (4, 2, 3), (3,), (0, 2)])
def test_factories_of_layouts(name, layout, size):
    outcomes = []
    for frontend in (torch, torchlike):
        try:
            outcomes.append(describe(getattr(frontend, name)(*size, layout=getattr(frontend, f"sparse_{layout}"))))
        except RuntimeError:
            outcomes.append(None)
    assert (outcomes[0] is None) == (outcomes[1] is None)
    if outcomes[0] is not None:
        agree(*([each[: 7 if name == "zeros" else 3] for each in outcomes[::-1]]))


# Text, copies and files.


def write(tensor):
    """Return the text, in which notes may stand on other lines: the names of layouts differ in length."""
    return re.sub(r",\s+(?=[a-z])", ", ", repr(tensor).replace("torchlike.", "torch."))


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("kind", sorted({*KINDS} - {"bfloat16", "half"}))
def test_texts(name, kind):
    one, other = (make(frontend, name, kind) for frontend in (torchlike, torch))
    assert write(one) == write(other)
    if kind not in NO_GRADIENTS:
        one, other = one.requires_grad_(), other.requires_grad_()
        assert write(one) == write(other) and write(one * 2) == write(other * 2)
        assert write(torchlike.nn.Parameter(one.detach())) == write(torch.nn.Parameter(other.detach()))


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("kind", sorted({*KINDS} - {"bfloat16"}))
def test_files_are_read_both_ways(name, kind):
    for writer, reader in ((torch, torchlike), (torchlike, torch), (torchlike, torchlike)):
        given = make(writer, name, kind)
        saved = {"tensor": given, "parameter": writer.nn.Parameter(given, kind not in NO_GRADIENTS)}
        file = io.BytesIO()
        writer.save(saved, file)
        file.seek(0)
        found = reader.load(file)
        for each in found.values():
            agree(describe(each), describe(given))
        assert found["parameter"].requires_grad == (kind not in NO_GRADIENTS)
        assert isinstance(found["parameter"], reader.nn.Parameter)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_copies_and_pickles(name, kind):
    given = make(torchlike, name, kind)
    for found in (copy.deepcopy(given), pickle.loads(pickle.dumps(given)), copy.copy(given)):
        agree(describe(found), describe(given))
    assert copy.deepcopy(given).values().data_ptr() != given.values().data_ptr()


# Systems.


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("options", [{}, {"upper": False}, {"transpose": True}, {"unitriangular": True}], ids=str)
@pytest.mark.parametrize("name", ["csr", "bsr"])
def test_triangular_systems(name, options, dtype):
    results = []
    for frontend in (torch, torchlike):
        matrix = frontend.from_numpy(elements(3, 6, 6) + 5 * np.eye(6)).to(getattr(frontend, dtype))
        right = make_strided(frontend, 4, 6, 2, dtype=dtype)
        if name == "bsr" and "unitriangular" in options:
            return  # which torch refuses
        given = matrix.to_sparse_csr() if name == "csr" else matrix.to_sparse_bsr((2, 2))
        results.append(read(frontend.triangular_solve(right, given, **options)[0]))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4, atol=1e-4)


def test_a_reduction_by_another_name_is_refused():
    for frontend in (torch, torchlike):
        with pytest.raises((ValueError, RuntimeError)):
            frontend.sparse.mm(frontend.eye(2).to_sparse_csr(), frontend.eye(2), "prod")
