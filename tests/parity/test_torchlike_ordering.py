"""Order statistics, scattered reductions, pieces, joins, windows and calculus beside torch's, refusals and all."""

import numpy as np
import pytest
from comparison import ignore_warnings
from test_torchlike_operators import compare, same

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")


def draw(shape, dtype):
    """Draw distinct elements: of equal ones torch picks any."""
    rng = np.random.default_rng(len(shape) + sum(shape))
    if 0 in shape:
        return np.zeros(shape, dtype)
    numbers = rng.permutation(int(np.prod(shape))).reshape(shape)
    if dtype == "bool":
        return numbers % 2 == 0
    return np.asarray(numbers - 3, dtype) if dtype == "int64" else np.asarray(numbers * 0.37 - 1.1, dtype)


def with_nan(array):
    if array.dtype.kind == "f" and array.size > 2:
        array = array.copy()
        array.reshape(-1)[1] = np.nan
    return array


INPUTS = {
    f"{dtype}{list(shape)}": draw(shape, dtype)
    for dtype in ("float32", "int64", "bool")
    for shape in ((), (5,), (3, 4), (0, 3), (2, 3, 2))
}

#: Functions of one tensor.
CALLS = {
    "aminmax": lambda t, x: t.aminmax(x),
    "atleast_3d": lambda t, x: t.atleast_3d(x),
    "block_diag": lambda t, x: t.block_diag(x, t.ones(2, dtype=x.dtype)),
    "bucketize": lambda t, x: t.bucketize(x, t.tensor([0.0, 1.0, 2.0]).to(x.dtype), right=True),
    "cartesian_prod": lambda t, x: t.cartesian_prod(x, x),
    "column_stack": lambda t, x: t.column_stack((x, x)),
    "combinations": lambda t, x: t.combinations(x, 3, with_replacement=True),
    "corrcoef": lambda t, x: t.corrcoef(x),
    "cov": lambda t, x: t.cov(x, correction=0),
    "cummax": lambda t, x: t.cummax(x, 0),
    "cummin": lambda t, x: t.cummin(x, -1),
    "cumulative_trapezoid": lambda t, x: t.cumulative_trapezoid(x, dx=0.5),
    "diag": lambda t, x: t.diag(x, 1),
    "diag_embed": lambda t, x: t.diag_embed(x, -1),
    "diff": lambda t, x: t.diff(x, 2),
    "diff joined": lambda t, x: t.diff(x, prepend=x, append=x),
    "dist": lambda t, x: t.dist(x, x * 2, 3),
    "dsplit": lambda t, x: t.dsplit(x, 2),
    "dstack": lambda t, x: t.dstack((x, x)),
    "expand_copy": lambda t, x: t.expand_copy(x, (2, *x.shape)),
    "fliplr": lambda t, x: t.fliplr(x),
    "gradient": lambda t, x: t.gradient(x) or x,
    "gradient uneven": lambda t, x: t.gradient(x, spacing=(t.tensor([0.0, 1, 3, 4, 8]),), edge_order=2),
    "histc": lambda t, x: t.histc(x, 4, 0, 2),
    "histogram": lambda t, x: t.histogram(x, 3),
    "hsplit": lambda t, x: t.hsplit(x, [1, 2]),
    "kron": lambda t, x: t.kron(x, x),
    "kthvalue": lambda t, x: t.kthvalue(x, 2, keepdim=True),
    "logcumsumexp": lambda t, x: t.logcumsumexp(x, 0),
    "median": lambda t, x: t.median(x),
    "median dim": lambda t, x: t.median(x, 0),
    "mH": lambda t, x: x.mH,
    "mode": lambda t, x: t.mode(x, 0),
    "msort": lambda t, x: t.msort(x),
    "nanmean": lambda t, x: t.nanmean(x, -1),
    "nanmedian": lambda t, x: t.nanmedian(x, -1),
    "nanquantile": lambda t, x: t.nanquantile(x, 0.4, dim=0, interpolation="midpoint"),
    "nansum": lambda t, x: t.nansum(x, 0),
    "nonzero_static": lambda t, x: t.nonzero_static(x, size=14),
    "quantile": lambda t, x: t.quantile(x, t.tensor([0.1, 0.5], dtype=x.dtype), dim=-1, keepdim=True),
    "renorm": lambda t, x: t.renorm(x, 2, 0, 1.5),
    "repeat_interleave": lambda t, x: t.repeat_interleave(x, 2, 0),
    "repeat_interleave each": lambda t, x: x.repeat_interleave(t.tensor([2, 0, 1]), dim=0),
    "rot90": lambda t, x: t.rot90(x, 3),
    "select_copy": lambda t, x: t.select_copy(x, 0, 1),
    "split_copy": lambda t, x: t.split_copy(x, 2),
    "std_mean": lambda t, x: t.std_mean(x, dim=0),
    "tensor_split": lambda t, x: t.tensor_split(x, t.tensor([1, 2])),
    "trace": lambda t, x: t.trace(x),
    "trapezoid": lambda t, x: t.trapezoid(x, x),
    "unfold": lambda t, x: x.unfold(0, 2, 1),
    "unique": lambda t, x: t.unique(x, return_inverse=True, return_counts=True),
    "unique dim": lambda t, x: t.unique(x, dim=0, return_counts=True),
    "unique_consecutive": lambda t, x: t.unique_consecutive(x, return_inverse=True),
    "view int16": lambda t, x: x.clone(memory_format=t.contiguous_format).view(t.int16),
    "vsplit": lambda t, x: t.vsplit(x, 3),
}
#: Those that torch's formulas have at a point without a derivative, or that pick among equal elements.
APART = {"dist", "median", "mode", "kthvalue", "median dim", "nanmedian"}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_torchs(name):
    for key, array in INPUTS.items():
        if name in APART and key.startswith("bool"):
            continue
        compare(CALLS[name], [array], slack=1e-5 if name == "corrcoef" else 0.0)


@pytest.mark.parametrize(
    "name", "median dim,nanmedian,nanmean,nansum,nanquantile,quantile,cummax,cummin,unique".split(",")
)
def test_nan_counts_as_in_torch(name):
    for array in INPUTS.values():
        if array.dtype.kind == "f":
            with ignore_warnings():
                same(*(attempt(CALLS[name], module, with_nan(array)) for module in (torch, torchlike)))


def attempt(function, module, array):
    try:
        return function(module, module.tensor(array))
    except (RuntimeError, IndexError):
        return None


INDEX = np.array([0, 2, 0])
SCATTERED = {
    "index_copy": lambda t, x, y: x.index_copy(0, t.tensor(INDEX)[:2], y[:2]),
    "index_fill": lambda t, x, y: x.index_fill(1, t.tensor([-1, 0]), 2),
    "index_reduce": lambda t, x, y: x.index_reduce(0, t.tensor(INDEX), y, "amax", include_self=False),
    "put": lambda t, x, y: x.put(t.tensor([1, -1]), y[0, :2], accumulate=True),
    "scatter add": lambda t, x, y: x.detach().scatter(0, t.tensor([[0, 1]]), y.detach(), reduce="add"),
    "take_along_dim": lambda t, x, y: t.take_along_dim(x, t.tensor([[0], [-1], [2]]), 1),
    "as_strided_scatter": lambda t, x, y: t.as_strided_scatter(x, y[:2, :2], (2, 2), (1, 5)),
    "segment_reduce": lambda t, x, y: t.segment_reduce(x, "mean", lengths=t.tensor([1, 0, 2]), initial=0),
    "searchsorted": lambda t, x, y: t.searchsorted(t.sort(x, 1)[0], y),
    **{
        f"scatter_reduce {reduce} {own}": (
            lambda t, x, y, reduce=reduce, own=own: x.scatter_reduce(
                0, t.tensor([[0, 1, 1, 0], [0, 2, 1, 1]]), y, reduce, include_self=own
            )
        )
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    },
}


@pytest.mark.parametrize("name", SCATTERED)
def test_scattered_writes_are_torchs(name):
    for dtype in ("float64", "int64"):
        if name == "as_strided_scatter" and dtype == "float64":
            continue  # torch's gradient is that of the part that was written over
        x = draw((3, 4), dtype)
        compare(SCATTERED[name], [x, np.flip(x).copy() * 2])
        compare(SCATTERED[name], [x, x[:, :1].copy()])


FACTORIES = {
    **{
        f"{name}_window": (lambda t, name=name: getattr(t, f"{name}_window")(7))
        for name in ("bartlett", "hann", "hamming")
    },
    "blackman": lambda t: t.blackman_window(6, periodic=False, dtype=t.float64),
    "kaiser": lambda t: t.kaiser_window(6, True, 3.0),
    "logspace": lambda t: t.logspace(-1, 2, 5, base=2),
    "range": lambda t: t.range(1, 3, 0.5),
    "tril_indices": lambda t: t.tril_indices(3, 5, 1),
    "triu_indices": lambda t: t.triu_indices(4, 3, -1),
    "linspace of tensors": lambda t: t.linspace(t.tensor(1), t.tensor(2.5), 4),
    "empty_permuted": lambda t: t.empty_permuted((2, 3, 4), (1, 2, 0)).zero_(),
    "asarray": lambda t: t.asarray([1, 2], dtype=t.float32),
    "frombuffer": lambda t: t.frombuffer(bytearray(b"abcd"), dtype=t.int16, offset=2),
    "histogramdd": lambda t: t.histogramdd(t.tensor([[0.0, 1], [1, 0], [2, 2]]), bins=[3, 2])[0],
    **{
        f"signal {name}": (lambda t, name=name: getattr(t.signal.windows, name)(6, sym=False))
        for name in "bartlett blackman cosine exponential gaussian hamming hann kaiser nuttall".split()
    },
}


@pytest.mark.parametrize("name", FACTORIES)
def test_sequences_and_windows_are_torchs(name):
    with ignore_warnings():
        same(FACTORIES[name](torch), FACTORIES[name](torchlike))


INPLACE = {
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_(0, 1),
    "squeeze_": lambda x: x.unsqueeze_(0).squeeze_(0),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "as_strided_": lambda x: x.as_strided_((2, 2), (1, 2), 1),
    "set_": lambda x: x.detach().clone().set_(x.detach()[:1]),
    "resize_as_": lambda x: x.detach().clone().resize_as_(x[0].detach()),
    "fill_diagonal_": lambda x: x.fill_diagonal_(5, wrap=True),
}


@pytest.mark.parametrize("name", INPLACE)
def test_views_in_place_are_torchs(name):
    results = []
    for module in (torch, torchlike):
        leaf = module.arange(12.0).reshape(4, 3).requires_grad_()
        found = INPLACE[name](leaf * 2)
        if found.requires_grad:
            (found * module.arange(float(found.numel())).reshape(found.shape)).sum().backward()
        results.append([found.detach(), leaf.grad if leaf.grad is not None else module.zeros(1)])
    same(*results)
