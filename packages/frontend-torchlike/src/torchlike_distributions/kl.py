"""Kullback-Leibler divergences, by pairs of classes (source: ``torch.distributions.kl``).

`register_kl` adds a pair. Where several registered pairs fit two distributions, the closest classes win.
"""

from __future__ import annotations

__name__ = "torchlike.distributions.kl"  # see Note [Public paths]

import math
import warnings
from collections.abc import Callable
from functools import total_ordering
from typing import Any, Final

import torchlike
from torchlike import Tensor
from torchlike.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Cauchy,
    ContinuousBernoulli,
    Dirichlet,
    Distribution,
    Exponential,
    ExponentialFamily,
    Gamma,
    Geometric,
    Gumbel,
    HalfNormal,
    Independent,
    Laplace,
    LowRankMultivariateNormal,
    MultivariateNormal,
    Normal,
    OneHotCategorical,
    Pareto,
    Poisson,
    TransformedDistribution,
    Uniform,
)

from .multivariate.multivariate_normal import mahalanobis
from .utils import euler_constant, sum_rightmost

_REGISTRY: Final[dict[tuple[type, ...], Callable[[Any, Any], Tensor]]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Return a decorator that registers the divergence of ``type_q`` from ``type_p`` and their subclasses.

    Any classes do, those of other libraries too; what is not a class raises ``TypeError``.
    """
    for each in (type_p, type_q):
        if not isinstance(each, type):
            raise TypeError(f"register_kl takes two classes, and {each!r} is not a class")

    def register(function: Any) -> Any:
        _REGISTRY[type_p, type_q] = function
        return function

    return register


@total_ordering
class _Match:
    """A pair of classes, smaller where it is closer to the distributions'."""

    def __init__(self, *types: type) -> None:
        self.types = types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Match) and self.types == other.types

    __hash__ = object.__hash__

    def __le__(self, other: _Match) -> bool:
        for mine, theirs in zip(self.types, other.types, strict=True):
            if not issubclass(mine, theirs):
                return False
            if mine is not theirs:
                break
        return True


def _find(type_p: type, type_q: type) -> Any:
    matches = [pair for pair in _REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return None
    left = min(_Match(*pair) for pair in matches).types
    right = tuple(reversed(min(_Match(*reversed(pair)) for pair in matches).types))
    if _REGISTRY[left] is not _REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the divergence of ``q`` from ``p`` in nats, of the batch's shape; ``NotImplementedError`` for unknown pairs.

    >>> import torchlike
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    function = _find(type(p), type(q))
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    found: Tensor = function(p, q)
    return found


def _infinite_like(tensor: Tensor) -> Tensor:
    return torchlike.full_like(tensor, math.inf)


def _x_log_x(tensor: Tensor) -> Tensor:
    return torchlike.special.xlogy(tensor, tensor)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    softplus = torchlike.nn.functional.softplus
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = torchlike.where(q.probs == 0, math.inf, ones)
    ones = torchlike.where(p.probs == 0, 0.0, ones)
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros = torchlike.where(q.probs == 1, math.inf, zeros)
    return ones + torchlike.where(p.probs == 1, 0.0, zeros)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    first = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    second = p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma()
    one = (p.concentration1 - q.concentration1) * torchlike.digamma(p.concentration1)
    zero = (p.concentration0 - q.concentration0) * torchlike.digamma(p.concentration0)
    return first - second + one + zero + (total_q - total_p) * torchlike.digamma(total_p)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return torchlike.where(p.total_count > q.total_count, math.inf, found)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    found = p.probs * (p.logits - q.logits)
    found = torchlike.where((q.probs == 0).expand_as(found), math.inf, found)
    return torchlike.where((p.probs == 0).expand_as(found), 0.0, found).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    found = p.mean * (p.logits - q.logits) + p._log_constant() + torchlike.log1p(-p.probs)
    return found - q._log_constant() - torchlike.log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    total_p = p.concentration.sum(-1)
    normalizers = total_p.lgamma() - q.concentration.sum(-1).lgamma()
    inner = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    away = p.concentration - q.concentration
    return normalizers - inner + (away * (p.concentration.digamma() - total_p.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    params = [each.detach().requires_grad_() for each in p._natural_params]
    others = q._natural_params
    normalizer = p._log_normalizer(*params)
    gradients = torchlike.autograd.grad(normalizer.sum(), params, create_graph=True)
    found = q._log_normalizer(*others) - normalizer
    for mine, theirs, gradient in zip(params, others, gradients, strict=True):
        found = found - sum_rightmost((theirs - mine) * gradient, len(q.event_shape))
    return found


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    found = (
        q.concentration * (p.rate / q.rate).log()
        + torchlike.lgamma(q.concentration)
        - torchlike.lgamma(p.concentration)
    )
    found = found + (p.concentration - q.concentration) * torchlike.digamma(p.concentration)
    return found + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, loc_q, loc_p = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    found = -ratio.log() - loc_q + loc_p
    return found + ratio * euler_constant + torchlike.exp(loc_q + (1 + ratio).lgamma() - loc_p) - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - torchlike.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * torchlike.exp(-away / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def _get_root(distribution: Any) -> Tensor:
    found: Tensor = (
        distribution._unbroadcasted_scale_tril
        if isinstance(distribution, MultivariateNormal)
        else distribution.scale_tril
    )
    return found


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    root_p, root_q, size = _get_root(p), _get_root(q), p.event_shape[0]
    batch = torchlike.broadcast_shapes(root_q.shape[:-2], root_p.shape[:-2])
    logs = (root_q.diagonal(dim1=-2, dim2=-1).log() - root_p.diagonal(dim1=-2, dim2=-1).log()).sum(-1)
    solved = torchlike.linalg.solve_triangular(
        root_q.expand((*batch, size, size)), root_p.expand((*batch, size, size)), upper=False
    )
    return logs + 0.5 * (solved.pow(2).sum((-2, -1)) + mahalanobis(root_q, q.loc - p.loc) - size)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return torchlike.where(p.support.lower_bound < q.support.lower_bound, math.inf, found)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_of_transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return torchlike.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


#: Pairs whose first has values that the second cannot take, by the parameter that gives the shape of the infinite answer.
_IMPOSSIBLE: Final = {
    "concentration1": [(Beta, Pareto)],
    "probs": [(ContinuousBernoulli, Pareto)],
    "rate": [(Exponential, other) for other in (Beta, ContinuousBernoulli, Pareto, Uniform)]
    + [(Poisson, Bernoulli), (Poisson, Binomial)],
    "concentration": [(Gamma, other) for other in (Beta, ContinuousBernoulli, Pareto, Uniform)],
    "loc": [
        (first, other)
        for first in (Gumbel, Laplace, Normal)
        for other in (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
    ],
    "scale": [(Pareto, other) for other in (Beta, ContinuousBernoulli, Uniform)],
}
for _parameter, _pairs in _IMPOSSIBLE.items():
    for _pair in _pairs:
        register_kl(*_pair)(lambda p, q, _name=_parameter: _infinite_like(getattr(p, _name)))


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - torchlike.log1p(-q.probs) - q._log_constant()


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _any_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Tensor:
    total = p.concentration1 + p.concentration0
    found = -p.entropy() + q.concentration.lgamma() - q.concentration * q.rate.log()
    return (
        found
        - (q.concentration - 1) * (p.concentration1.digamma() - total.digamma())
        + q.rate * p.concentration1 / total
    )


def _from_normal(entropy: Tensor, mean: Tensor, variance: Tensor, q: Any) -> Tensor:
    """Return the divergence of a normal distribution from one of this entropy, mean and variance."""
    squared = q.scale.pow(2)
    found = (
        0.5 * (2 * math.pi * squared).log()
        + (0.5 * (variance + mean.pow(2)) - mean * q.loc + 0.5 * q.loc.pow(2)) / squared
    )
    return found - entropy


def _any_normal(p: Any, q: Any) -> Tensor:
    return _from_normal(p.entropy(), p.mean, p.variance, q)


for _first in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace):
    register_kl(_first, Normal)(_any_normal)


@register_kl(Uniform, Normal)
def _uniform_normal(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    away = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return (math.sqrt(math.pi * 2) * q.scale / width).log() + 0.5 * (width.pow(2) / 12 + away) / q.scale.pow(2)


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _any_uniform(p: Any, q: Any) -> Tensor:
    found = -p.entropy() + (q.high - q.low).log()
    return torchlike.where((q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), math.inf, found)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    found = -q.concentration * ratio.log() + ratio + q.concentration.lgamma() + q.concentration * euler_constant
    return found - (1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Tensor:
    product, loc = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 + product.reciprocal() + torchlike.exp(loc) * product / (product + 1) - loc


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Tensor:
    product, loc = p.rate * q.scale, q.loc / q.scale
    found = (p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration
    return (
        found
        + product.log()
        + p.concentration / product
        - loc
        + torchlike.exp(loc) * (1 + product.reciprocal()).pow(-p.concentration)
    )


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Tensor:
    mean, half = p.loc / q.scale, (p.scale / q.scale).pow(2) * 0.5
    loc = q.loc / q.scale
    found = -(p.scale / q.scale).log() + mean - loc
    return found + torchlike.exp(-mean + half + loc) - (0.5 * (1 + math.log(2 * math.pi)))


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    away = p.loc - q.loc
    ratio, relative = p.scale / q.scale, away / p.scale
    spread = math.sqrt(2 / math.pi) * p.scale * torchlike.exp(-0.5 * relative.pow(2))
    spread = spread + away * torchlike.erf(math.sqrt(0.5) * relative)
    return -ratio.log() + spread / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    found = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return torchlike.where(p.alpha <= 1, math.inf, found)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Tensor:
    common = p.scale.log() + p.alpha.reciprocal()
    found = p.alpha.log() - common + q.concentration.lgamma() - q.concentration * q.rate.log()
    found = found + (1 - q.concentration) * common + q.rate * p.alpha * p.scale / (p.alpha - 1) - 1
    return torchlike.where(p.alpha <= 1, math.inf, found)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Tensor:
    squared, common = 2 * q.scale.pow(2), p.scale / (p.alpha - 1)
    found = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
    found = found + (p.alpha * common.pow(2) / (p.alpha - 2) + (p.alpha * common - q.loc).pow(2)) / squared - 1
    return torchlike.where(p.alpha <= 2, math.inf, found)


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    high, low = _x_log_x(p.high) - _x_log_x(p.low) - width, _x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width
    total = q.concentration1 + q.concentration0
    found = (q.concentration1 - 1) * high / width
    found = -width.log() - found + (q.concentration0 - 1) * low / width
    found = found + q.concentration1.lgamma() + q.concentration0.lgamma() - total.lgamma()
    outside = (p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)
    return torchlike.where(outside, math.inf, found)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    found = -p.entropy() - p.mean * q.logits - torchlike.log1p(-q.probs) - q._log_constant()
    outside = torchlike.max(p.high >= q.support.upper_bound, p.low <= q.support.lower_bound)
    return torchlike.where(outside, torchlike.ones_like(found) * math.inf, found)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    found = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return torchlike.where(p.low < q.support.lower_bound, math.inf, found)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    found = -width.log() + q.concentration.lgamma() - q.concentration * q.rate.log()
    found = found + (1 - q.concentration) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    found = found + q.rate * (p.high + p.low) / 2
    return torchlike.where(p.low < q.support.lower_bound, math.inf, found)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Tensor:
    inverse, low, high = q.scale / (p.high - p.low), (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    return inverse.log() + 0.5 * (low + high) - inverse * (torchlike.exp(-high) - torchlike.exp(-low))


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    found = mean_log * (q.alpha + 1) - width.log() - q.alpha.log() - q.alpha * q.scale.log()
    return torchlike.where(p.low < q.support.lower_bound, math.inf, found)
