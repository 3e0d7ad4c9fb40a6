"""Programs of other libraries on tensors: SciPy, scikit-learn, pandas, matplotlib, einops, array-api-compat as they are."""

from __future__ import annotations

import os
import subprocess
import sys

import array_api_compat
import einops
import einops.array_api
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import special
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import torchlike
import torchlike.integrations.einops
from torchlike import array_api

mpl.use("agg")

X = np.random.default_rng(0).normal(size=(60, 4))
Y = (X @ [1.0, -2.0, 0.5, 0.0] > 0).astype(np.int64)


def test_array_api_compat_finds_the_namespace():
    x = torchlike.ones(2)
    assert array_api_compat.array_namespace(x, 1.0) is array_api
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.device(x) == x.device
    assert array_api_compat.size(x) == 2
    assert array_api_compat.to_device(x, "meta").is_meta
    with pytest.raises(TypeError, match="Multiple namespaces"):
        array_api_compat.array_namespace(x, np.ones(2))


DISPATCH = """
import warnings
warnings.simplefilter("error")
import numpy as np, torchlike as t, sklearn, scipy.fft, scipy.integrate, scipy.interpolate, scipy.ndimage, scipy.signal
from scipy import special, stats
from scipy.cluster.hierarchy import linkage
from scipy.spatial.transform import Rotation
random = np.random.default_rng(0)
a, b, m = random.normal(size=50), random.normal(size=50) + 1, random.normal(size=(25, 2))
one = np.array([1.0, 0.5])
CALLS = {
    "erf": lambda x, y, m, c: special.erf(x),
    "logsumexp": lambda x, y, m, c: special.logsumexp(m, axis=1),
    "betainc": lambda x, y, m, c: special.betainc(x**2, y**2, 1 / (1 + x**2)),
    "ttest": lambda x, y, m, c: tuple(stats.ttest_ind(x, y)),
    "pearsonr": lambda x, y, m, c: stats.pearsonr(x, y).statistic,
    "skew": lambda x, y, m, c: stats.skew(m, axis=0),
    "rankdata": lambda x, y, m, c: stats.rankdata(x),
    "zscore": lambda x, y, m, c: stats.zscore(x),
    "wilcoxon": lambda x, y, m, c: tuple(stats.wilcoxon(x, y)),
    "convolve": lambda x, y, m, c: scipy.signal.fftconvolve(x, y, mode="same"),
    "lfilter": lambda x, y, m, c: scipy.signal.lfilter(c, c[:1], x),
    "detrend": lambda x, y, m, c: scipy.signal.detrend(x),
    "hilbert": lambda x, y, m, c: scipy.signal.hilbert(x),
    "savgol": lambda x, y, m, c: scipy.signal.savgol_filter(x, 5, 2),
    "rfft": lambda x, y, m, c: scipy.fft.rfft(m, axis=0),
    "dct": lambda x, y, m, c: scipy.fft.dct(x),
    "gaussian": lambda x, y, m, c: scipy.ndimage.gaussian_filter(m, 1.0),
    "trapezoid": lambda x, y, m, c: scipy.integrate.trapezoid(x),
    "spline": lambda x, y, m, c: scipy.interpolate.CubicSpline(c * 0 + c.cumsum(0), c)(c + 0.25),
    "linkage": lambda x, y, m, c: linkage(m),
    "rotation": lambda x, y, m, c: Rotation.from_rotvec(x[:3]).as_matrix(),
}
for name, call in CALLS.items():
    expected = call(a, b, m, one)
    found = call(*map(t.from_numpy, (a, b, m, one)))
    pairs = zip(found, expected) if isinstance(found, tuple) else [(found, expected)]
    for ours, theirs in pairs:
        assert type(ours) is t.Tensor, (name, type(ours))
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-9, atol=1e-12, err_msg=name)

from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, PolynomialFeatures, StandardScaler

X = random.normal(size=(60, 4))
Y = (X @ [1.0, -2.0, 0.5, 0.0] > 0).astype(np.int64)
ESTIMATORS = {
    "lda": (LinearDiscriminantAnalysis, "predict"),
    "nb": (GaussianNB, "predict"),
    "ridge": (lambda: Ridge(solver="svd"), "predict"),
    "pca": (lambda: PCA(2, svd_solver="full"), "transform"),
    **{each.__name__: (each, "transform") for each in (MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler)},
    "polynomials": (PolynomialFeatures, "transform"),
}
tx, ty = t.from_numpy(X), t.from_numpy(Y)
for name, (make, method) in ESTIMATORS.items():
    expected = getattr(make().fit(X, Y * (1.0 if name == "ridge" else 1)), method)(X)
    with sklearn.config_context(array_api_dispatch=True):
        model = make().fit(tx, ty * 1.0 if name == "ridge" else ty)
        found = getattr(model, method)(tx)
    assert type(found) is t.Tensor, (name, type(found))
    np.testing.assert_allclose(abs(found.numpy()), abs(expected), rtol=1e-7, atol=1e-9, err_msg=name)
with sklearn.config_context(array_api_dispatch=True):
    calls = (accuracy_score, (ty, ty)), (mean_squared_error, (tx[:, 0], tx[:, 1])), (r2_score, (tx, tx * 2))
    for metric, arguments in calls:
        assert np.isclose(metric(*arguments), metric(*(each.numpy() for each in arguments))), metric
    for metric in (cosine_similarity, euclidean_distances):
        found = metric(tx)
        assert type(found) is t.Tensor
        np.testing.assert_allclose(found.numpy(), metric(X), atol=1e-6)
    assert {type(part) for part in train_test_split(tx, ty, random_state=0)} == {t.Tensor}
print("all programs ran")
"""


def test_scipy_and_scikit_learn_dispatch_to_tensors_by_themselves():
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}  # SciPy reads it when it is imported
    command = [sys.executable, "-c", DISPATCH]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == "all programs ran\n", done.stderr[-2000:]


@pytest.mark.parametrize("make", [LogisticRegression, lambda: RandomForestClassifier(5, random_state=0)])
def test_estimators_take_tensors_without_dispatch(make):
    expected = make().fit(X, Y).predict(X)
    found = make().fit(torchlike.from_numpy(X), torchlike.from_numpy(Y)).predict(torchlike.from_numpy(X))
    assert isinstance(found, np.ndarray)
    assert found.tolist() == expected.tolist()
    assert not sklearn.get_config()["array_api_dispatch"]


def test_ufuncs_of_scipy_give_tensors():
    x = torchlike.tensor([0.5, 1.0])
    assert torchlike.allclose(torchlike.as_tensor(special.gamma(x)), torchlike.tensor(special.gamma(x.numpy())))


def test_pandas_and_tensors_change_places():
    frame = pd.DataFrame({"a": torchlike.arange(3), "b": torchlike.ones(3)})
    assert frame["a"].tolist() == [0, 1, 2]
    assert torchlike.tensor(frame).tolist() == [[0, 1], [1, 1], [2, 1]]
    assert torchlike.tensor(frame["a"]).dtype is torchlike.int64
    assert torchlike.tensor(frame.to_numpy()).shape == (3, 2)
    assert torchlike.tensor(pd.Series([1.5, 2.5], index=[7, 8])).tolist() == [1.5, 2.5]
    assert torchlike.tensor(pd.Index([3, 4])).tolist() == [3, 4]
    assert torchlike.as_tensor(pd.Series([1, 2], dtype="Int64")).tolist() == [1, 2]
    assert pd.DataFrame(torchlike.ones(2, 3)).shape == (2, 3)
    assert pd.Series(torchlike.arange(3.0)).sum() == 3.0
    assert (pd.Series([1.0, 2.0]) + torchlike.ones(2)).tolist() == [2.0, 3.0]
    assert (torchlike.ones(2) * pd.Series([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert frame.astype(torchlike.float32).dtypes.tolist() == [np.dtype("float32")] * 2
    assert pd.Series([5, 6, 7])[torchlike.tensor([0, 2])].tolist() == [5, 7]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            pd.DataFrame({"a": [1, 2], "b": [3, "x"]}),
            r"DataFrame to a tensor: element \[1\]\[1\], in column 'b', is 'x' of type str",
        ),
        (pd.Series(["x", "y"]), r"Series to a tensor: element \[0\] is 'x' of type str"),
        (pd.Series(["x", "y"], dtype="category"), r"Series to a tensor: element \[0\] is 'x'"),
        (pd.Series([1, None], dtype="object"), r"Series to a tensor: element \[1\] is None"),
        (pd.Series(pd.to_datetime(["2020-01-01"])), "type numpy.datetime64"),
    ],
)
def test_tables_that_are_no_numbers_are_refused_with_their_column(table, text):
    with pytest.raises(TypeError, match=text):
        torchlike.tensor(table)


def test_a_series_refuses_a_tensor_that_requires_grad():
    with pytest.raises(RuntimeError, match="requires grad"):
        pd.Series(torchlike.ones(2, requires_grad=True))


def test_matplotlib_draws_tensors():
    from matplotlib import pyplot as plt

    x = torchlike.linspace(0, 1, 11)
    figure, (left, right) = plt.subplots(1, 2)
    (line,) = left.plot(x, x**2)
    assert np.array_equal(line.get_ydata(), (x**2).numpy())
    image = right.imshow(x[:, None] * x)
    assert image.get_array().shape == (11, 11)
    counts, _, _ = left.hist(x, bins=2)
    assert counts.tolist() == [5, 6]
    points = right.scatter(x, x, c=x)
    assert points.get_offsets().shape == (11, 2)
    figure.canvas.draw()
    plt.close(figure)


PATTERNS = [
    (einops.rearrange, "b c h -> h (b c)", {}),
    (einops.rearrange, "b (c1 c2) h -> c2 b h c1", {"c1": 1}),
    (einops.repeat, "b c h -> b c h r", {"r": 2}),
    *((einops.reduce, "b c h -> c", {"reduction": name}) for name in ("sum", "mean", "max", "min", "prod")),
]


@pytest.mark.parametrize(("function", "pattern", "options"), PATTERNS)
def test_einops_takes_tensors(function, pattern, options):
    values = np.arange(24, dtype=np.float64).reshape(2, 3, 4) / 10
    expected = function(values, pattern, **options)
    for found in (
        function(torchlike.from_numpy(values), pattern, **options),
        getattr(einops.array_api, function.__name__)(torchlike.from_numpy(values), pattern, **options),
    ):
        assert type(found) is torchlike.Tensor
        np.testing.assert_allclose(found.numpy(), expected)


def test_einops_keeps_gradients_and_joins_lists():
    x = torchlike.ones(2, 3, requires_grad=True)
    einops.reduce(einops.rearrange([x, x], "n a b -> a (n b)"), "a b -> a", "mean").sum().backward()
    assert torchlike.allclose(x.grad, torchlike.full((2, 3), 1 / 3))
    packed, shapes = einops.pack([x, torchlike.ones(2)], "a *")
    assert packed.shape == (2, 4)
    assert [tuple(part.shape) for part in einops.unpack(packed, shapes, "a *")] == [(2, 3), (2,)]
    assert einops.einsum(x, x, "a b, c b -> a c").tolist() == [[3, 3], [3, 3]]
    assert einops.asnumpy(x).tolist() == x.tolist()
    assert einops.parse_shape(x, "a b") == {"a": 2, "b": 3}
    with pytest.raises(einops.EinopsError, match="only on one side of expression"):
        einops.rearrange(x, "a b c -> c")
