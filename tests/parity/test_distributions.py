"""Distributions beside torch's: densities, moments, samples' shapes and gradients, divergences and transforms."""

import copy
import itertools
import pickle

import numpy as np
import pytest
import torch
from comparison import assert_same

import torchlike
import torchlike.distributions as ours
import torchlike.distributions.kl

torch_distributions = torch.distributions


@pytest.fixture(autouse=True)
def double():
    """Make both compute in float64, also where a number is all they have: some of torch's formulas mix dtypes."""
    for library in (torch, torchlike):
        library.set_default_dtype(library.float64)
    yield
    for library in (torch, torchlike):
        library.set_default_dtype(library.float32)


def positive(rng, *shape):
    return rng.uniform(0.3, 2.5, shape)


def simplex(rng, *shape):
    values = rng.uniform(0.1, 1, shape)
    return values / values.sum(-1, keepdims=True)


def matrix(rng, size):
    root = rng.standard_normal((size, size))
    return root @ root.T + size * np.eye(size)


#: Class → its arguments, made of a generator of random numbers.
CASES = {
    "Bernoulli": lambda r: {"probs": r.uniform(0.1, 0.9, (3, 2))},
    "Beta": lambda r: {"concentration1": positive(r, 3), "concentration0": positive(r, 3)},
    "Binomial": lambda r: {"total_count": 5, "probs": r.uniform(0.1, 0.9, (3,))},
    "Categorical": lambda r: {"probs": simplex(r, 3, 4)},
    "Cauchy": lambda r: {"loc": r.standard_normal(3), "scale": positive(r, 3)},
    "Chi2": lambda r: {"df": positive(r, 3)},
    "ContinuousBernoulli": lambda r: {"probs": np.array([0.1, 0.5, 0.8])},
    "Dirichlet": lambda r: {"concentration": positive(r, 2, 3)},
    "Exponential": lambda r: {"rate": positive(r, 3)},
    "FisherSnedecor": lambda r: {"df1": positive(r, 3) + 2, "df2": positive(r, 3) + 4},
    "Gamma": lambda r: {"concentration": positive(r, 3), "rate": positive(r, 3)},
    "GeneralizedPareto": lambda r: {
        "loc": r.standard_normal(3),
        "scale": positive(r, 3),
        "concentration": np.array([-0.2, 0.0, 0.3]),
    },
    "Geometric": lambda r: {"probs": r.uniform(0.1, 0.9, (3,))},
    "Gumbel": lambda r: {"loc": r.standard_normal(3), "scale": positive(r, 3)},
    "HalfCauchy": lambda r: {"scale": positive(r, 3)},
    "HalfNormal": lambda r: {"scale": positive(r, 3)},
    "InverseGamma": lambda r: {"concentration": positive(r, 3) + 2, "rate": positive(r, 3)},
    "Kumaraswamy": lambda r: {"concentration1": positive(r, 3), "concentration0": positive(r, 3)},
    "LKJCholesky": lambda r: {"dim": 3, "concentration": positive(r, 2)},
    "Laplace": lambda r: {"loc": r.standard_normal(3), "scale": positive(r, 3)},
    "LogNormal": lambda r: {"loc": r.standard_normal(3), "scale": positive(r, 3)},
    "LogisticNormal": lambda r: {"loc": r.standard_normal(3), "scale": positive(r, 3)},
    "LowRankMultivariateNormal": lambda r: {
        "loc": r.standard_normal(3),
        "cov_factor": r.standard_normal((3, 1)),
        "cov_diag": positive(r, 3),
    },
    "Multinomial": lambda r: {"total_count": 4, "probs": simplex(r, 2, 3)},
    "MultivariateNormal": lambda r: {"loc": r.standard_normal((2, 3)), "covariance_matrix": matrix(r, 3)},
    "NegativeBinomial": lambda r: {"total_count": 5, "probs": r.uniform(0.1, 0.9, (3,))},
    "Normal": lambda r: {"loc": r.standard_normal((2, 3)), "scale": positive(r, 3)},
    "OneHotCategorical": lambda r: {"probs": simplex(r, 3, 4)},
    "OneHotCategoricalStraightThrough": lambda r: {"logits": r.standard_normal((3, 4))},
    "Pareto": lambda r: {"scale": positive(r, 3), "alpha": positive(r, 3) + 2},
    "Poisson": lambda r: {"rate": positive(r, 3)},
    "RelaxedBernoulli": lambda r: {"temperature": np.array(0.7), "probs": r.uniform(0.1, 0.9, (3,))},
    "RelaxedOneHotCategorical": lambda r: {"temperature": np.array(0.7), "probs": simplex(r, 2, 3)},
    "StudentT": lambda r: {"df": positive(r, 3) + 2, "loc": r.standard_normal(3), "scale": positive(r, 3)},
    "Uniform": lambda r: {"low": r.uniform(-2, -1, (3,)), "high": r.uniform(1, 2, (3,))},
    "VonMises": lambda r: {"loc": r.standard_normal(3), "concentration": positive(r, 3)},
    "Weibull": lambda r: {"scale": positive(r, 3), "concentration": positive(r, 3)},
    "Wishart": lambda r: {"df": np.array(5.0), "covariance_matrix": matrix(r, 3)},
}


def make(name, seed=0, *, requires_grad=False):
    """Return the distribution of both libraries, and their parameters."""
    arguments = CASES[name](np.random.default_rng(seed))

    def fill(module, library):
        tensors = {
            key: library.tensor(value, dtype=library.float64, requires_grad=requires_grad)
            if isinstance(value, np.ndarray)
            else value
            for key, value in arguments.items()
        }
        return getattr(module, name)(**tensors), [each for each in tensors.values() if hasattr(each, "requires_grad")]

    return fill(ours, torchlike), fill(torch_distributions, torch)


def read(value):
    return np.asarray(value.detach().numpy())


def compare(mine, theirs, read_value, **tolerances):
    try:
        want = read_value(theirs)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            read_value(mine)
        return
    assert_close(read_value(mine), want, **tolerances)


def assert_close(mine, theirs, **tolerances):
    np.testing.assert_allclose(read(mine), read(theirs), **{"rtol": 1e-7, "atol": 1e-9, **tolerances})
    assert_same(tuple(mine.shape), tuple(theirs.shape))


@pytest.mark.filterwarnings("ignore:Singular sample")  # torch's own, of Wishart
@pytest.mark.parametrize("name", CASES)
def test_densities_and_moments(name):
    (mine, _), (theirs, _) = make(name)
    torch.manual_seed(0)
    values = theirs.sample((5,))
    given = torchlike.tensor(values.numpy())
    assert tuple(mine.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(mine.event_shape) == tuple(theirs.event_shape)
    compare(mine, theirs, lambda each: each.log_prob(given if each is mine else values))
    compare(mine, theirs, lambda each: each.cdf(given if each is mine else values))
    for attribute in ("mean", "mode", "variance", "stddev"):
        compare(mine, theirs, lambda each, attribute=attribute: getattr(each, attribute))
    compare(mine, theirs, lambda each: each.entropy())
    points = np.linspace(0.05, 0.95, 5)
    shape = (5,) + (1,) * len(theirs.batch_shape)
    compare(mine, theirs, lambda each: each.icdf((torchlike if each is mine else torch).tensor(points.reshape(shape))))
    if theirs.has_enumerate_support:
        for expand in (True, False):
            compare(mine, theirs, lambda each, expand=expand: each.enumerate_support(expand))
    wide = tuple(theirs.batch_shape)
    assert_close(mine.expand((4, *wide)).log_prob(given[0]), theirs.expand((4, *wide)).log_prob(values[0]))
    assert repr(mine).partition("(")[0] == repr(theirs).partition("(")[0]


@pytest.mark.filterwarnings("ignore:Singular sample")  # torch's own, of Wishart
@pytest.mark.parametrize("name", CASES)
def test_samples_lie_in_the_support_and_have_gradients(name):
    (mine, leaves), (theirs, their_leaves) = make(name, requires_grad=True)
    torchlike.manual_seed(0)
    drawn = mine.sample((40,))
    assert tuple(drawn.shape) == tuple(theirs.sample((40,)).shape)
    assert not drawn.requires_grad
    assert mine.support.check(drawn).all()
    assert bool(mine.has_rsample) == bool(theirs.has_rsample)
    if theirs.has_rsample and name != "Wishart":  # torch's samples of it are made in place, and have no gradients
        mine.rsample((3,)).sum().backward(retain_graph=True)
        theirs.rsample((3,)).sum().backward(retain_graph=True)
        assert [each.grad is None for each in leaves] == [each.grad is None for each in their_leaves]
    for each in (*leaves, *their_leaves):
        each.grad = None
    mine.log_prob(drawn[0]).sum().backward(retain_graph=True)
    theirs.log_prob(torch.tensor(drawn[0].numpy())).sum().backward(retain_graph=True)
    for each, other in zip(leaves, their_leaves, strict=True):
        assert_close(each.grad, other.grad, rtol=1e-6, atol=1e-8)


def test_divergences():
    names = sorted({each.__name__ for pair in torch_distributions.kl._KL_REGISTRY for each in pair} & set(CASES))
    compared = 0
    for first, second in itertools.product(names, repeat=2):
        (p, _), (theirs_p, _) = make(first, 1)
        (q, _), (theirs_q, _) = make(second, 2)
        try:
            want = torch_distributions.kl_divergence(theirs_p, theirs_q)
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                ours.kl_divergence(p, q)
            continue
        except (IndexError, RuntimeError, ValueError):  # torch's own formulas do not broadcast everywhere
            continue
        assert_close(ours.kl_divergence(p, q), want, rtol=1e-6, err_msg=f"{first} and {second}")
        compared += 1
    assert compared > 70


TRANSFORMS = {
    "AbsTransform": (),
    "AffineTransform": (1.5, -2.0),
    "CorrCholeskyTransform": (),
    "ExpTransform": (),
    "LowerCholeskyTransform": (),
    "PositiveDefiniteTransform": (),
    "PowerTransform": (1.5,),
    "SigmoidTransform": (),
    "SoftmaxTransform": (),
    "SoftplusTransform": (),
    "StickBreakingTransform": (),
    "TanhTransform": (),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    mine, theirs = (getattr(module, name)(*TRANSFORMS[name]) for module in (ours, torch_distributions))
    values = np.abs(np.random.default_rng(0).standard_normal((2, 3, 3)))
    x, y = torchlike.tensor(values), torch.tensor(values)
    assert_close(mine(x), theirs(y))
    assert_close(mine.inv(mine(x)), theirs.inv(theirs(y)), rtol=1e-6)
    assert tuple(mine.forward_shape((2, 3, 3))) == tuple(theirs.forward_shape((2, 3, 3)))
    compare(mine, theirs, lambda each: each.log_abs_det_jacobian(*((x, mine(x)) if each is mine else (y, theirs(y)))))
    assert mine.bijective == theirs.bijective
    assert (mine.domain.event_dim, mine.codomain.event_dim) == (theirs.domain.event_dim, theirs.codomain.event_dim)


@pytest.mark.parametrize("name", [*TRANSFORMS, "composed"])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_transforms_are_copied_with_inverses_of_their_own(name, copied):
    parts = [getattr(ours, each)(*TRANSFORMS[each]) for each in ("ExpTransform", "AffineTransform")]
    made = ours.ComposeTransform(parts) if name == "composed" else getattr(ours, name)(*TRANSFORMS[name])
    inverse = made.inv
    again, turned = copied(made), copied(inverse)
    assert again.inv.inv is again
    assert made.inv is inverse
    assert turned.inv.inv is turned or turned.inv is made  # a shallow copy turns the same transform
    values = torchlike.tensor(np.abs(np.random.default_rng(0).standard_normal((2, 3, 3))))
    images = made(values)
    for each in (again, turned.inv):
        assert read(each(values)).tolist() == read(images).tolist()
        assert_same(read(each.inv(images)), read(inverse(images)))


@pytest.mark.parametrize("name", CASES)
def test_distributions_are_pickled_after_use(name):
    mine = make(name)[0][0]
    torchlike.manual_seed(0)
    sample = mine.sample()
    density = read(mine.log_prob(sample))
    again = pickle.loads(pickle.dumps(mine))
    torchlike.manual_seed(0)
    assert_same(read(again.sample()), read(sample))
    assert_same(read(again.log_prob(sample)), density)


def test_composed_distributions():
    def build(library, module):
        loc = library.tensor([[0.0, 1.0], [2.0, -1.0]], dtype=library.float64)
        normal = module.Normal(loc, library.ones((), dtype=library.float64) * 2)
        steps = [module.AffineTransform(0.5, 2.0), module.TanhTransform(cache_size=1)]
        squashed = module.TransformedDistribution(normal, steps)
        mixture = module.MixtureSameFamily(
            module.Categorical(library.tensor([0.3, 0.7], dtype=library.float64)), module.Normal(loc[0], loc[0] + 1)
        )
        independent = module.Independent(normal, 1)
        biject = module.biject_to(module.constraints.simplex)
        value = library.tensor([[0.1, -0.3], [0.2, 0.6]], dtype=library.float64)
        return [
            squashed.log_prob(value),
            squashed.cdf(value),
            mixture.log_prob(value[0]),
            mixture.mean,
            mixture.variance,
            independent.log_prob(value),
            independent.entropy(),
            biject(value),
            module.transform_to(module.constraints.interval(-1.0, 3.0))(value),
            module.transform_to(module.constraints.greater_than(2.0))(value),
        ]

    for mine, theirs in zip(build(torchlike, ours), build(torch, torch_distributions), strict=True):
        assert_close(mine, theirs)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Normal", {"loc": 0.0, "scale": -1.0}),
        ("Categorical", {"probs": [-1.0, 2.0]}),
        ("Categorical", {}),
        ("Bernoulli", {"probs": 0.5, "logits": 0.0}),
        ("Uniform", {"low": 1.0, "high": 0.0}),
        ("Dirichlet", {"concentration": 1.0}),
        ("MultivariateNormal", {"loc": [0.0], "covariance_matrix": [[-1.0]]}),
    ],
)
def test_refused_arguments(name, arguments):
    for library, module in ((torch, torch_distributions), (torchlike, ours)):
        with pytest.raises(ValueError):  # the texts are each library's own
            getattr(module, name)(**{key: library.tensor(value) for key, value in arguments.items()})


def test_refused_values():
    with pytest.raises(ValueError, match="within the support"):
        ours.Exponential(1.0).log_prob(torchlike.tensor(-1.0))
    with pytest.raises(ValueError, match="right-most size"):
        ours.Dirichlet(torchlike.ones(3)).log_prob(torchlike.ones(2))
    assert ours.Exponential(1.0, validate_args=False).log_prob(torchlike.tensor(-1.0)).item() == 1.0
