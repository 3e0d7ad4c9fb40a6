"""Numbers of distributions that are drawn one by one, by rejection, from torch's streams.

Each sampler takes functions that draw a uniform and a normal number in double precision. The constants with ten digits are
torch's, which are single-precision there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .arrays import Array

Draw = Callable[[], float]

_THIRD: Final = float(np.float32(1) / np.float32(3))
_SQUEEZE: Final = float(np.float32(0.0331))


def sample_poisson(rate: float, uniform: Draw) -> float:
    """Draw a number of events (source: W. Hörmann, The transformed rejection method for Poisson variables, 1993)."""
    if rate == 0:
        return 0
    if rate < 10:
        bound, product, events = math.exp(-rate), uniform(), 0
        while product > bound:
            product *= uniform()
            events += 1
        return events
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_scale = math.log(1.1239 + 1.1328 / (b - 3.4))
    accepted = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        room = 0.5 - abs(u)
        k = math.floor((2 * a / room + b) * u + rate + 0.43)
        if room >= 0.07 and v <= accepted:
            return k
        if k < 0 or (room < 0.013 and v > room):
            continue
        if math.log(v) + log_scale - math.log(a / (room * room) + b) <= k * log_rate - rate - math.lgamma(k + 1):
            return k


_TAILS: Final = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: float) -> float:
    if k <= 9:
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _count_successes(count: float, chance: float, uniform: Draw) -> float:
    """Add up geometric numbers."""
    total, successes, log_miss = 0.0, 0, math.log1p(-chance)
    while True:
        u = uniform()
        total += math.ceil(math.log(u) / log_miss) if u else math.inf
        if total > count:
            return successes
        successes += 1


def _reject_binomial(count: float, chance: float, uniform: Draw) -> float:
    """Draw by transformed rejection (source: W. Hörmann, The generation of binomial random variates, 1993)."""
    spread = math.sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    accepted, odds = 0.92 - 4.2 / b, chance / (1 - chance)
    alpha, mode = (2.83 + 5.1 / b) * spread, math.floor((count + 1) * chance)
    while True:
        u, v = uniform() - 0.5, uniform()
        room = 0.5 - abs(u)
        k = math.floor((2 * a / room + b) * u + count * chance + 0.5)
        if k < 0 or k > count:
            continue
        if room >= 0.07 and v <= accepted:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(count - mode)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        if v == 0 or math.log(v * alpha / (a / (room * room) + b)) <= bound:
            return k


def sample_binomial(count: float, chance: float, uniform: Draw) -> float:
    """Draw the number of successes of ``count`` trials."""
    if count <= 0 or chance <= 0:
        return 0
    if chance >= 1:
        return count
    if math.isnan(count) or math.isnan(chance):
        return math.nan
    rare = min(chance, 1 - chance)
    found = (_reject_binomial if count * rare >= 10 else _count_successes)(count, rare, uniform)
    return found if chance <= 0.5 else count - found


def sample_gamma(shape: Any, uniform: Draw, normal: Draw) -> float:
    """Draw of a gamma distribution (source: G. Marsaglia, W. Tsang, A simple method for generating gamma variables, 2000).

    ``shape`` is a NumPy scalar, in whose precision it is handled.
    """
    kind = type(shape)
    scale = 1.0
    if shape < 1:
        if shape == 0:
            return 0.0
        scale = (1 - uniform()) ** float(kind(1) / shape)
        shape += kind(1)
    d = float(shape - kind(_THIRD))
    c = 1 / math.sqrt(9 * d)
    while True:
        y = 0.0
        while y <= 0:
            x = normal()
            y = 1 + c * x
        v, u, square = y * y * y, 1 - uniform(), x * x
        if u < 1 - _SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v


def gamma_gradient(shape: Array, sample: Array) -> Any:
    """Return how a number of a gamma distribution moves with its shape: the distribution's change over its density."""
    from .libraries import scipy

    special = scipy("special", "_standard_gamma_grad")
    a, x = np.float64(shape), np.float64(sample)
    step = 1e-4 * a
    lower = (special.gammainc(a + step, x) - special.gammainc(a - step, x)) / (2 * step)
    upper = (special.gammaincc(a - step, x) - special.gammaincc(a + step, x)) / (2 * step)
    density = np.exp(special.xlogy(a - 1, x) - x - special.gammaln(a))
    return -np.where(x < a, lower, upper) / density


def beta_gradient(sample: Array, first: Array, total: Array) -> Any:
    """Return the same of a beta distribution of parameters ``first`` and ``total - first``, divided by ``1 - sample``."""
    from .libraries import scipy

    special = scipy("special", "_dirichlet_grad")
    x, a = np.float64(sample), np.float64(first)
    b = np.float64(total) - a
    step = 1e-4 * a
    lower = (special.betainc(a + step, b, x) - special.betainc(a - step, b, x)) / (2 * step)
    density = np.exp(special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - special.betaln(a, b))
    return -lower / density / (1 - x)
