"""What ``dask`` computes chunk by chunk, over drawn chunkings, beside the cpu; what it collects, and refuses to."""

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dispatch_core as dc
import torchlike
from dispatch_backend_array_api.devices import dask as device
from torchlike.nn import functional as F

ROWS, COLUMNS = 40, 6
X = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((ROWS, 2)).astype(np.float32)
ROUND = np.round(X * 2) / 2
NANS = np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X).astype(np.float32)
NANS[:, 3] = np.nan
INTEGERS = (X * 3).astype(np.int64)


@st.composite
def chunkings(draw):
    """Draw the sizes of the chunks of a matrix."""
    sizes = []
    for size in (ROWS, COLUMNS):
        cuts = draw(st.lists(st.integers(1, size - 1), max_size=4, unique=True))
        edges = [0, *sorted(cuts), size]
        sizes.append(tuple(np.diff(edges).tolist()))
    return tuple(sizes)


def on_dask(values, chunks):
    """Return a tensor on dask in these chunks."""
    columns = chunks[1] if values.shape[1] == COLUMNS else None
    return torchlike.tensor(values, device="dask", chunks=(chunks[0], columns))


def compare(call, chunks, *arrays, rtol=1e-4, atol=1e-5):
    """Compare the results on dask with those on the cpu; return the first one on dask."""
    got, wanted = call(*[on_dask(each, chunks) for each in arrays]), call(*map(torchlike.tensor, arrays))
    pairs = list(zip(got, wanted, strict=True)) if isinstance(wanted, tuple) else [(got, wanted)]
    for ours, theirs in pairs:
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.detach().cpu(), theirs.detach(), rtol=rtol, atol=atol)
    return pairs[0][0]


POINTWISE = {
    "erf": torchlike.erf,
    "erfinv": lambda x: torchlike.erfinv(x.tanh()),
    "lgamma": torchlike.lgamma,
    "gelu": F.gelu,
    "frexp": lambda x: tuple(torchlike.frexp(x)),
    "polygamma": lambda x: torchlike.polygamma(2, x.abs() + 1),
    "igamma": lambda x: torchlike.igamma(x.abs() + 1, x[:, :1].abs()),
    "gcd": lambda x: torchlike.gcd((x * 50).long(), torchlike.tensor(12, device=x.device)),
    "hermite": lambda x: torchlike.special.hermite_polynomial_h(x, 3),
}


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_operators_keep_the_chunks(name):
    chunks = ((15, 15, 10), (4, 2))
    found = compare(POINTWISE[name], chunks, X)
    assert found._dispatch_data.chunks == chunks


def test_a_pointwise_operator_takes_an_array_of_unknown_size():
    x = on_dask(X, ((8,) * 5, (6,)))
    before = dc.computed_for_sizes()
    found = x[x > 0].erf()
    assert dc.computed_for_sizes() == before
    np.testing.assert_allclose(found.cpu(), torchlike.tensor(X)[torchlike.tensor(X) > 0].erf(), rtol=1e-6)


def test_no_pointwise_operator_is_left_to_the_host():
    from dispatch_aten.operators import ATEN_BY_NAME
    from dispatch_devkit.operator_coverage import coverage

    left = coverage("dask").operators("dask", "host")
    assert [name for name in left if "pointwise" in ATEN_BY_NAME[name.removeprefix("aten::")].tags] == []


def test_gelu_and_its_gradient_are_not_computed_at_the_call():
    read = []
    source = da.from_array(X, chunks=(8, 6)).map_blocks(lambda block: read.append(len(block)) or block, dtype=X.dtype)
    x = dc.wrap_like(torchlike.ones(1, device="dask"), source).requires_grad_()
    read.clear()  # Dask asks for examples
    loss = F.gelu(x).sum()
    loss.backward()
    assert [count for count in read if count] == []
    theirs = torchlike.tensor(X).requires_grad_()
    F.gelu(theirs).sum().backward()
    np.testing.assert_allclose(x.grad.cpu(), theirs.grad, rtol=1e-5, atol=1e-6)


LINES = {
    "sort": lambda x: tuple(x.sort(0)),
    "sort descending": lambda x: tuple(x.sort(1, descending=True)),
    "argsort": lambda x: x.argsort(dim=0, stable=True),
    "kthvalue": lambda x: tuple(x.kthvalue(3, 0)),
    "mode": lambda x: tuple(x.mode(0)),
    "topk": lambda x: tuple(x.topk(3, 0)),
    "smallest": lambda x: tuple(x.topk(2, 1, largest=False)),
    "cummax": lambda x: tuple(x.cummax(0)),
    "logcumsumexp": lambda x: x.logcumsumexp(0),
    "softmax": lambda x: x.softmax(0),
    "unique": lambda x: x.unique(return_counts=True),
    "histc": lambda x: x.histc(7),
    "histc between": lambda x: x.histc(5, -1, 2),
    "fft": lambda x: torchlike.view_as_real(torchlike.fft.fft2(x)),
    "rfft": lambda x: torchlike.fft.rfft(x, dim=0).abs(),
    "irfft": lambda x: torchlike.fft.irfft(x, dim=0),
    "view": lambda x: x.view(torchlike.int32),
}


@settings(max_examples=5, deadline=None)
@given(chunks=chunkings())
@pytest.mark.parametrize("name", LINES)
def test_operators_along_a_dimension_are_those_of_the_cpu(name, chunks):
    compare(LINES[name], chunks, ROUND)


@settings(max_examples=8, deadline=None)
@given(chunks=chunkings(), kind=st.sampled_from(["int64", "int32", "uint8", "int8"]))
def test_counts_of_integers_are_those_of_the_cpu(chunks, kind):
    values = np.abs(INTEGERS).astype(kind)
    compare(lambda x: x.unique(return_inverse=True, return_counts=True), chunks, values)
    compare(lambda x: x[:, 0].bincount(minlength=3), chunks, values)
    compare(lambda x, y: x[:, 0].bincount(y[:, 0]), chunks, values, Y)


@settings(max_examples=8, deadline=None)
@given(
    chunks=chunkings(),
    dim=st.sampled_from([None, 0, -1, (0, 1)]),
    correction=st.sampled_from([None, 0, 1, 2.5]),
    keepdim=st.booleans(),
    double=st.booleans(),
)
def test_variances_are_those_of_the_cpu(chunks, dim, correction, keepdim, double):
    values = (X + 100).astype(np.float64 if double else np.float32)
    for function in (torchlike.var, torchlike.std):

        def call(x, function=function):
            return function(x, dim, correction=correction, keepdim=keepdim)

        compare(call, chunks, values, rtol=1e-10 if double else 1e-4, atol=0)
    ours, theirs = on_dask(X, chunks).requires_grad_(), torchlike.tensor(X).requires_grad_()
    for x in (ours, theirs):
        x.std(0).sum().backward()
    np.testing.assert_allclose(ours.grad.cpu(), theirs.grad, rtol=1e-3, atol=1e-6)


def test_bincount_reads_its_input_once_and_refuses_negative_values():
    read = []
    source = da.from_array(np.abs(INTEGERS[:, 0]), chunks=4)
    counted = source.map_blocks(lambda block: read.append(block.size) or block, dtype=np.int64)
    x = dc.wrap_like(torchlike.ones(1, device="dask"), counted)
    read.clear()
    assert x.bincount().tolist() == np.bincount(np.abs(INTEGERS[:, 0])).tolist()
    assert [size for size in read if size] == [4] * 10
    with pytest.raises(dc.DispatchError, match=r"non-negative integral inputs\. \(argument 'self' of aten::bincount"):
        torchlike.tensor([3, -1], device="dask", chunks=1).bincount().tolist()


@pytest.mark.parametrize("rows", [4, 40])
def test_a_shuffle_computes_each_chunk_once_and_makes_none_larger(rows):
    read = []
    source = da.from_array(X, chunks=(rows, 6)).map_blocks(
        lambda block: read.append(len(block)) or block, dtype=X.dtype
    )
    x = dc.wrap_like(torchlike.ones(1, device="dask"), source)
    read.clear()
    order = np.random.default_rng(0).permutation(ROWS)
    found = x[torchlike.tensor(order, device="dask")]
    np.testing.assert_array_equal(found.cpu(), X[order])
    assert [size for size in read if size] == [rows] * (ROWS // rows)
    assert max(found._dispatch_data.chunks[0]) <= rows


def test_adding_rows_up_is_done_chunk_by_chunk():
    def add(x):
        place = torchlike.tensor(np.arange(ROWS) % 5, device=x.device)
        return torchlike.zeros(5, COLUMNS, device=x.device).index_add(0, place, x)

    found = compare(add, ((10, 10, 20), (6,)), X)
    assert found._dispatch_data.npartitions == 1


def take_svd(x, *, full_matrices):
    """Return what the signs of the factors leave as it is."""
    u, s, v = torchlike.linalg.svd(x, full_matrices=full_matrices)
    return s, u.T @ u, v @ v.T, u[:, : len(s)] @ torchlike.diag(s) @ v[: len(s)]


def take_qr(x, mode):
    """Return what the signs of the factors leave as it is."""
    q, r = torchlike.linalg.qr(x, mode=mode)
    return q @ r, q.T @ q, r.tril(-1)


MATRICES = {
    "svdvals": torchlike.linalg.svdvals,
    "svd": lambda x: take_svd(x, full_matrices=False),
    "svd, whole": lambda x: take_svd(x, full_matrices=True),
    "qr": lambda x: take_qr(x, "reduced"),
    "qr, whole": lambda x: take_qr(x, "complete"),
    "r": lambda x: torchlike.linalg.qr(x, mode="r")[1].abs(),
    "pinv": torchlike.linalg.pinv,
    "rank": torchlike.linalg.matrix_rank,
    "eigvalsh": lambda x: torchlike.linalg.eigvalsh(x.T @ x),
    "cholesky": lambda x: torchlike.linalg.cholesky(x.T @ x + torchlike.eye(x.shape[1], device=x.device)),
    "solve": lambda x: torchlike.linalg.solve(x.T @ x + torchlike.eye(x.shape[1], device=x.device), x.T),
    "cov": lambda x: torchlike.cov(x.T),
}


@settings(max_examples=5, deadline=None)
@given(chunks=chunkings())
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", MATRICES)
def test_factorizations_are_those_of_the_cpu(name, wide, chunks):
    compare(lambda x: MATRICES[name](x.T if wide else x), chunks, X, rtol=1e-3, atol=1e-4)


@settings(max_examples=6, deadline=None)
@given(chunks=chunkings(), driver=st.sampled_from([None, "gels", "gelsy", "gelsd", "gelss"]), double=st.booleans())
def test_least_squares_are_those_of_the_cpu_whatever_the_rank(chunks, driver, double):
    x, y = X.copy(), Y
    if driver != "gels":
        x[:, 5] = x[:, 0] + x[:, 1]
    for matrix in (X, x):
        kind = np.float64 if double else np.float32
        arrays = (matrix.astype(kind), y.astype(kind))
        compare(lambda a, b: tuple(torchlike.linalg.lstsq(a, b, driver=driver)), chunks, *arrays, rtol=1e-3, atol=1e-4)
        compare(
            lambda a, b: torchlike.linalg.lstsq(a, b[:, 0], driver=driver)[0], chunks, *arrays, rtol=1e-3, atol=1e-4
        )


def test_tall_matrices_stay_in_chunks():
    x = on_dask(X, ((10,) * 4, (6,)))
    q, r = torchlike.linalg.qr(x)
    assert q._dispatch_data.numblocks == (4, 1)
    assert r.shape == (6, 6)


VALUES = {"floats": X, "equal ones": ROUND, "nans": NANS, "doubles": X.astype(np.float64), "integers": INTEGERS}
VALUES |= {"bytes": (X * 40).astype(np.uint8), "large": INTEGERS * 10**15, "halves": np.abs(INTEGERS).astype(np.int16)}
VALUES["signs"] = np.where(X > 0, 0.0, -0.0).astype(np.float32)
VALUES["infinite"] = np.where(X > 1, np.inf, np.where(X < -1, -np.inf, X)).astype(np.float32)


@settings(max_examples=4, deadline=None)
@given(chunks=chunkings(), dim=st.integers(-2, 1), keepdim=st.booleans())
@pytest.mark.parametrize("name", VALUES)
def test_medians_and_their_indices_are_exact(name, chunks, dim, keepdim):
    for kind in ("median", "nanmedian"):
        compare(lambda x, kind=kind: tuple(getattr(x, kind)(dim, keepdim)), chunks, VALUES[name], rtol=0, atol=0)
        compare(lambda x, kind=kind: getattr(x, kind)(), chunks, VALUES[name], rtol=0, atol=0)


@settings(max_examples=12, deadline=None)
@given(
    chunks=chunkings(),
    dim=st.sampled_from([None, 0, 1]),
    keepdim=st.booleans(),
    q=st.one_of(st.floats(0, 1), st.lists(st.floats(0, 1, width=32), min_size=1, max_size=3)),
    how=st.sampled_from(["linear", "lower", "higher", "midpoint", "nearest"]),
)
@pytest.mark.parametrize("name", ["floats", "equal ones", "nans", "doubles"])
def test_quantiles_are_exact(name, chunks, dim, keepdim, q, how):
    for function in (torchlike.quantile, torchlike.nanquantile):

        def call(x, function=function):
            share = q if isinstance(q, float) else torchlike.tensor(q, dtype=x.dtype, device=x.device)
            return function(x, share, dim=dim, keepdim=keepdim, interpolation=how)

        compare(call, chunks, VALUES[name], rtol=1e-6, atol=1e-7)


def test_medians_of_more_than_the_limit_are_computed_in_passes(monkeypatch):
    x = on_dask(X, ((10,) * 4, (6,)))
    monkeypatch.setattr(device.settings, "collect_limit", X.nbytes - 1)
    values, places = x.median(0)
    wanted = torchlike.tensor(X).median(0)
    assert values.tolist() == wanted[0].tolist()
    assert places.tolist() == wanted[1].tolist()


def test_quantiles_and_medians_have_gradients():
    for call in (lambda x: x.median(0)[0], lambda x: torchlike.quantile(x, 0.3, dim=0)):
        ours, theirs = on_dask(X, ((10,) * 4, (6,))).requires_grad_(), torchlike.tensor(X).requires_grad_()
        call(ours).sum().backward()
        call(theirs).sum().backward()
        np.testing.assert_allclose(ours.grad.cpu(), theirs.grad, rtol=1e-5)


def test_what_is_collected_is_said_once_counted_and_refused_above_the_limit(monkeypatch):
    from dispatch_backend_array_api import dask_collecting

    monkeypatch.setattr(dask_collecting, "_counts", type(dask_collecting._counts)())
    x = on_dask(X, ((10,) * 4, (3, 3)))
    with pytest.warns(UserWarning, match=r"'aten::sort\.stable' collects 640 bytes .* line on one worker"):
        x.sort(0)
    x.sort(0)
    assert device.collected_bytes()["aten::sort.stable"] == 1280
    monkeypatch.setattr(device.settings, "collect_limit", 100)
    for call, operator in (
        (lambda: x.sort(0), "aten::sort.stable"),
        (lambda: torchlike.linalg.svd(x), "aten::linalg_svd"),
        (lambda: torchlike.linalg.qr(x), "aten::linalg_qr"),
        (lambda: torchlike.hash_tensor(x), "aten::hash_tensor"),
    ):
        with pytest.raises(RuntimeError, match=rf"(?s)the limit is 100 bytes \({operator}\).*settings\.collect_limit"):
            call()
    assert x.sum().item() == pytest.approx(X.sum(), rel=1e-4)


def test_a_graph_that_grows_without_end_is_said_once(monkeypatch):
    from dispatch_backend_array_api import dask_cluster

    monkeypatch.setattr(dask_cluster, "_has_warned", False)
    monkeypatch.setattr(device.settings, "depth", 10)
    x = on_dask(X, ((20, 20), (6,)))
    with pytest.warns(UserWarning, match=r"waits for 1\d layers of operators.*put each step into a pipeline"):
        x = ((((((x + 1) + 1) + 1) + 1) + 1) + 1 + 1 + 1 + 1) + 1
    assert (x + 2).sum().item() == pytest.approx((X + 12).sum(), rel=1e-4)
