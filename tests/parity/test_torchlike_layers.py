"""Activations, normalizations, losses, distances, dropout and initial values beside torch's: values, gradients, texts."""

import inspect
import warnings

import numpy as np
import pytest
from comparison import attempt, builtin_class

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

RNG = np.random.default_rng(3)
EDGES = [-7.0, -3.0, -1.5, -1.0, -0.5, -0.1, 0.0, 0.2, 0.5, 1.0, 2.5, 3.0, 6.0, 25.0, float("inf"), float("nan")]

ACTIVATIONS = {
    "CELU": [{}, {"alpha": 2.0}],
    "ELU": [{}, {"alpha": 0.5}],
    "GELU": [{}, {"approximate": "tanh"}],
    "GLU": [{}, {"dim": 0}],
    "Hardshrink": [{}, {"lambd": 1.0}],
    "Hardsigmoid": [{}],
    "Hardswish": [{}],
    "Hardtanh": [{}, {"min_val": -2.0, "max_val": 0.5}],
    "LeakyReLU": [{}, {"negative_slope": 0.3}],
    "LogSigmoid": [{}],
    "LogSoftmax": [{"dim": 0}],
    "Mish": [{}],
    "PReLU": [{}, {"num_parameters": 8, "init": 0.5}],
    "RReLU": [{}],
    "ReLU": [{}],
    "ReLU6": [{}],
    "SELU": [{}],
    "SiLU": [{}],
    "Sigmoid": [{}],
    "Softmax": [{"dim": 1}],
    "Softmin": [{"dim": 1}],
    "Softplus": [{}, {"beta": 2.0, "threshold": 4.0}],
    "Softshrink": [{}, {"lambd": 1.0}],
    "Softsign": [{}],
    "Tanh": [{}],
    "Tanhshrink": [{}],
    "Threshold": [{"threshold": 0.1, "value": 20.0}],
}
NORMALIZATIONS = [
    ("BatchNorm1d", (4, 6), {"num_features": 6}),
    ("BatchNorm1d", (4, 6, 3), {"num_features": 6, "momentum": None}),
    ("BatchNorm2d", (4, 6, 3, 2), {"num_features": 6, "affine": False}),
    ("BatchNorm3d", (2, 6, 3, 2, 2), {"num_features": 6, "track_running_stats": False, "bias": False}),
    ("InstanceNorm1d", (4, 6, 3), {"num_features": 6, "affine": True, "track_running_stats": True}),
    ("InstanceNorm2d", (6, 3, 4), {"num_features": 6}),
    ("LayerNorm", (4, 6, 3), {"normalized_shape": (6, 3)}),
    ("LayerNorm", (4, 6), {"normalized_shape": 6, "bias": False}),
    ("GroupNorm", (4, 6, 3), {"num_groups": 3, "num_channels": 6}),
    ("RMSNorm", (4, 6, 3), {"normalized_shape": 3}),
    ("LocalResponseNorm", (4, 6, 3), {"size": 4}),
]


def draw(*shape):
    return RNG.normal(size=shape) * 2 + 0.5


def share(*shape):
    return RNG.uniform(0.05, 0.95, size=shape)


def signs(*shape):
    return np.sign(draw(*shape))


CLASSES = np.array([1, 0, 3, 2])
LOSSES = {
    "BCELoss": ([share(4, 3), share(4, 3)], [{}, {"weight": share(3)}]),
    "BCEWithLogitsLoss": ([draw(4, 3), share(4, 3)], [{}, {"pos_weight": share(3), "weight": share(3)}]),
    "CosineEmbeddingLoss": ([draw(4, 3), draw(4, 3), signs(4)], [{}, {"margin": 0.5}]),
    "CrossEntropyLoss": ([draw(4, 5), CLASSES], [{}, {"weight": share(5), "label_smoothing": 0.1}]),
    "GaussianNLLLoss": ([draw(4, 3), draw(4, 3), share(4, 3)], [{}, {"full": True}]),
    "HingeEmbeddingLoss": ([draw(4), signs(4)], [{}, {"margin": 0.5}]),
    "HuberLoss": ([draw(4, 3), draw(4, 3)], [{}, {"delta": 0.5}]),
    "KLDivLoss": ([np.log(share(4, 3)), share(4, 3)], [{}, {"log_target": True}, {"reduction": "batchmean"}]),
    "L1Loss": ([draw(4, 3), draw(4, 3)], [{}]),
    "MSELoss": ([draw(4, 3), draw(4, 3)], [{}]),
    "MarginRankingLoss": ([draw(4), draw(4), signs(4)], [{}, {"margin": 0.5}]),
    "MultiLabelMarginLoss": ([draw(2, 4), np.array([[3, 0, -1, 1], [2, -1, 0, 0]])], [{}]),
    "MultiLabelSoftMarginLoss": ([draw(4, 3), share(4, 3)], [{}, {"weight": share(3)}]),
    "MultiMarginLoss": ([draw(4, 5), CLASSES], [{}, {"p": 2, "margin": 0.5, "weight": share(5)}]),
    "NLLLoss": ([draw(4, 5), CLASSES], [{}, {"ignore_index": 0}]),
    "PoissonNLLLoss": ([draw(4, 3), share(4, 3) * 4], [{}, {"full": True}]),
    "SmoothL1Loss": ([draw(4, 3), draw(4, 3)], [{}, {"beta": 0.5}]),
    "SoftMarginLoss": ([draw(4, 3), signs(4, 3)], [{}]),
    "TripletMarginLoss": ([draw(4, 3), draw(4, 3), draw(4, 3)], [{}, {"swap": True, "p": 1.0}]),
    "TripletMarginWithDistanceLoss": ([draw(4, 3), draw(4, 3), draw(4, 3)], [{}, {"swap": True}]),
}
INITIAL = [
    ("dirac_", (6, 2, 3), {"groups": 2}),
    ("eye_", (3, 5), {}),
    ("kaiming_normal_", (6, 5), {}),
    ("kaiming_uniform_", (6, 5), {"mode": "fan_out", "nonlinearity": "relu"}),
    ("orthogonal_", (6, 5), {}),
    ("orthogonal_", (4, 3, 3), {"gain": 2.0}),
    ("sparse_", (10, 4), {"sparsity": 0.3}),
    ("trunc_normal_", (40,), {}),
    ("trunc_normal_", (6, 5), {"a": 1.5, "b": 3.0}),
    ("xavier_normal_", (6, 5), {"gain": 0.5}),
    ("xavier_uniform_", (6, 5, 2), {}),
]


def place(t, value):
    """Make an array of doubles one of the library's tensors, and leave the rest as it is."""
    return t.tensor(value) if isinstance(value, np.ndarray) else value


def to_numpy(tensor):
    # A clone, for some of torch's gradients are zeros without memory.
    return None if tensor is None else tensor.detach().clone().numpy()


def run(t, name, arrays, options, *, training=True, weights=None):
    """Return a layer's text, results, states and gradients of the first two orders."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = getattr(t.nn, name)(**{key: place(t, value) for key, value in options.items()}).double()
        layer.train(training)
        inputs = [place(t, value) for value in arrays]
        inputs[0].requires_grad_()
        found = layer(*inputs)
        wanted = [inputs[0], *layer.parameters()]
        slope = t.tensor(np.linspace(-1, 1, found.numel()).reshape(tuple(found.shape)))
        first = t.autograd.grad((found * slope).sum(), wanted, create_graph=True)
        results = [found, *first, *layer.state_dict().values()]
        curve = sum((each * each).sum() for each in first if each.requires_grad)
        if not isinstance(curve, int) and curve.requires_grad:
            second, error = attempt(t.autograd.grad, curve, wanted, allow_unused=True)
            if t is torchlike:
                assert error is None
            # torch has no second derivative of some that have one.
            results += [each for each in second or () if each is not None]
    return repr(layer), list(layer.state_dict()), [to_numpy(each) for each in results]


def check(name, arrays, options, **how):
    ours, theirs = (run(t, name, arrays, options, **how) for t in (torchlike, torch))
    assert ours[:2] == theirs[:2]
    for mine, other in zip(ours[2], theirs[2], strict=False):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_and_their_gradients_are_torchs(name):
    edges = np.array([EDGES[:14]])
    for options in ACTIVATIONS[name]:
        check(name, [draw(2, 8, 2)], options, training=False)
        if "num_parameters" not in options and name != "GLU":
            check(name, [edges], options, training=False)


@pytest.mark.parametrize(
    "name", [name for name in ACTIVATIONS if "inplace" in inspect.signature(getattr(torch.nn, name)).parameters]
)
def test_activations_in_place_have_the_same_gradient(name):
    for t, results in ((torchlike, ours := []), (torch, theirs := [])):
        leaf = t.tensor(np.array(EDGES[:14])).requires_grad_()
        layer = getattr(t.nn, name)(**ACTIVATIONS[name][0], inplace=True).eval()
        middle = leaf * 1
        found = layer(middle)
        assert found is middle
        (found * t.arange(14)).sum().backward()
        results += [found.detach().numpy(), leaf.grad.numpy(), repr(layer)]
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)
    assert ours[2] == theirs[2]


@pytest.mark.parametrize(("name", "shape", "options"), NORMALIZATIONS)
def test_normalizations_and_their_gradients_are_torchs(name, shape, options):
    check(name, [draw(*shape)], options)
    check(name, [draw(*shape)], options, training=False)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_response_normalization_across_maps_is_torchs(size):
    array = draw(2, 9, 3, 3)
    mine, theirs = (t.nn.CrossMapLRN2d(size)(t.tensor(array)) for t in (torchlike, torch))
    np.testing.assert_allclose(to_numpy(mine), to_numpy(theirs))


def test_running_statistics_follow_torchs_step_by_step():
    for momentum in (0.1, None, 0.9):
        layers = [t.nn.BatchNorm1d(3, momentum=momentum) for t in (torchlike, torch)]
        for _ in range(3):
            batch = draw(4, 3).astype("f")
            for t, layer in zip((torchlike, torch), layers, strict=True):
                layer(t.tensor(batch))
        for mine, other in zip(layers[0].state_dict().values(), layers[1].state_dict().values(), strict=True):
            np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_gradients_are_torchs(name):
    arrays, variants = LOSSES[name]
    for options in variants:
        for reduction in ("mean", "none") if options else ("mean", "sum", "none"):
            check(name, arrays, {"reduction": reduction, **options})


@pytest.mark.parametrize("old", [{"reduce": False}, {"size_average": False}, {"size_average": True}])
def test_older_arguments_for_a_reduction_warn_as_torchs(old):
    found = []
    for t in (torchlike, torch):
        with pytest.warns(UserWarning, match="size_average and reduce args") as caught:
            result = t.nn.functional.mse_loss(t.ones(2), t.zeros(2), **old)
        found.append((result.tolist(), str(caught[0].message)))
    assert found[0] == found[1]


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances_and_their_gradients_are_torchs(p):
    a, b, many = draw(5, 3), draw(4, 3), draw(30, 3)
    calls = [
        lambda t: (t.cdist, (t.tensor(a), t.tensor(b), p)),
        lambda t: (t.cdist, (t.tensor(many), t.tensor(b), p)),
        lambda t: (t.pdist, (t.tensor(a), p)),
        lambda t: (t.pairwise_distance, (t.tensor(a), t.tensor(a[::-1].copy()), p)),
    ]
    for call in calls:
        results = []
        for t in (torchlike, torch):
            function, args = call(t)
            args[0].requires_grad_()
            found = function(*args)
            found.sum().backward()
            results.append((to_numpy(found), to_numpy(args[0].grad)))
        for mine, other in zip(*results, strict=True):
            np.testing.assert_allclose(mine, 0 if other is None else other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("name", "shape", "options"), INITIAL)
def test_initial_values_are_torchs_from_the_same_seed(name, shape, options):
    found = []
    for t in (torchlike, torch):
        t.manual_seed(11)
        made = getattr(t.nn.init, name)(t.empty(*shape), **options)
        found.append((made.numpy(), t.rand(1).item()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5, atol=1e-6)
    assert found[0][1] == found[1][1]


WRONG = [
    lambda t: t.nn.functional.glu(t.ones(3)),
    lambda t: t.nn.functional.softshrink(t.ones(3), -1.0),
    lambda t: t.nn.functional.hardtanh(t.ones(3, dtype=t.bool)),
    lambda t: t.nn.functional.hardtanh(t.ones(3), 1.0, -1.0),
    lambda t: t.nn.functional.celu(t.ones(3), 0.0),
    lambda t: t.nn.functional.mish(t.ones(3, dtype=t.int64)),
    lambda t: t.nn.functional.prelu(t.ones(2, 3), t.ones(2)),
    lambda t: t.nn.functional.rrelu(t.ones(3), 0.5, 0.1),
    lambda t: t.nn.functional.layer_norm(t.ones(2, 3), (2,)),
    lambda t: t.nn.functional.layer_norm(t.ones(2, 3), (3,), t.ones(2)),
    lambda t: t.nn.functional.group_norm(t.ones(2, 4, 2), 3),
    lambda t: t.nn.functional.batch_norm(t.ones(2, 3), t.ones(2), t.ones(2)),
    lambda t: t.nn.functional.batch_norm(t.ones(1, 3), None, None, training=True),
    lambda t: t.nn.functional.batch_norm(t.ones(2, 3), None, None),
    lambda t: t.nn.functional.rms_norm(t.ones(2, 3), (2,)),
    pytest.param(
        lambda t: t.nn.functional.binary_cross_entropy(t.ones(2) * 2, t.ones(2)),
        marks=pytest.mark.no_pipeline(reason="the error depends on values"),
    ),
    lambda t: t.nn.functional.binary_cross_entropy(t.ones(2), t.ones(3)),
    lambda t: t.nn.functional.smooth_l1_loss(t.ones(2), t.ones(2), beta=-1.0),
    lambda t: t.nn.functional.huber_loss(t.ones(2), t.ones(2), delta=0.0),
    lambda t: t.nn.functional.kl_div(t.ones(2, dtype=t.int64), t.ones(2), reduction="sum"),
    lambda t: t.nn.functional.multi_margin_loss(t.ones(2, 3), t.ones(3, dtype=t.int64)),
    lambda t: t.nn.functional.multilabel_margin_loss(t.ones(2, 3), t.ones(2, 2, dtype=t.int64)),
    lambda t: t.nn.functional.triplet_margin_loss(t.ones(2, 3), t.ones(3), t.ones(2, 3)),
    lambda t: t.nn.functional.cosine_similarity(t.ones(2, 3, dtype=t.int64), t.ones(2, 3, dtype=t.int64)),
    lambda t: t.cdist(t.ones(2, 3), t.ones(2, 2)),
    lambda t: t.pdist(t.ones(3)),
    lambda t: t.nn.functional.bilinear(t.ones(2, 3), t.ones(2, 4), t.ones(5, 3, 3)),
    lambda t: t.nn.functional.dropout1d(t.ones(2)),
    lambda t: t.nn.functional.alpha_dropout(t.ones(2), 2.0),
    lambda t: t.nn.GroupNorm(3, 4),
    lambda t: t.nn.BatchNorm2d(3)(t.ones(2, 3)),
    lambda t: t.nn.MultiMarginLoss(p=3),
    lambda t: t.nn.TripletMarginLoss(margin=-1.0),
    lambda t: t.nn.Unflatten(1, 3),
    lambda t: t.nn.Bilinear(0, 1, 1),
    lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]),
    lambda t: t.nn.init.eye_(t.empty(3)),
    lambda t: t.nn.init.dirac_(t.empty(3, 3)),
    lambda t: t.nn.init.orthogonal_(t.empty(3)),
    lambda t: t.nn.init.calculate_gain("other"),
]


@pytest.mark.parametrize("call", WRONG)
def test_refusals_are_torchs(call):
    (_, mine), (_, theirs) = (attempt(call, t) for t in (torchlike, torch))
    assert theirs is not None
    assert builtin_class(mine) == builtin_class(theirs)
    text = str(theirs).split("\n")[0].replace("torch.Size", "torchlike.Size")
    assert str(mine).startswith(text), (str(mine), text)
