"""Kernels that draw: what ``jax.random`` makes of a key, in torch's dtypes and ranges.

Numbers of 16 bits are drawn as float32, whose stream is finer, and rounded. Integers are remainders of 64 bits, as in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.generator import Generator
from dispatch_aten.shapes import RULES

from ..jax_places import index_of, place_like, place_of, several
from ..library import Array, ArrayLibrary, Kernel
from .keys import make_key, take_key, take_pair

#: The least number of float32 that `jax.random.uniform` draws besides 0.
_LEAST: Final = 2.0**-23


def _wide(dtype: Any) -> Any:
    """Return the dtype in which numbers of a dtype are drawn."""
    return jnp.float64 if dtype == jnp.float64 or not jnp.issubdtype(dtype, jnp.floating) else jnp.float32


def _of_parts(draw: Callable[..., Array], key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Draw complex numbers, whose parts are drawn as real ones."""
    parts = draw(key, (*shape, 2), jnp.finfo(dtype).dtype)
    return jax.lax.complex(parts[..., 0], parts[..., 1])


def _uniform(key: Any, shape: tuple[int, ...], dtype: Any, low: Any = 0.0, high: Any = 1.0) -> Array:
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return _of_parts(partial(_uniform, low=low, high=high), key, shape, dtype)
    wide = _wide(dtype)
    low, high = jnp.asarray(low, wide), jnp.asarray(high, wide)
    drawn = (jax.random.uniform(key, shape, wide) * (high - low) + low).astype(dtype)
    # Rounding may give the end, which is not included.
    low, high = low.astype(dtype), high.astype(dtype)
    return jnp.clip(drawn, low, jnp.nextafter(high, low))


def _normal(key: Any, shape: tuple[int, ...], dtype: Any, mean: Any = 0.0, std: Any = 1.0) -> Array:
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return _of_parts(partial(_normal, std=std * 0.5**0.5), key, shape, dtype) + jnp.asarray(mean, dtype)
    wide = _wide(dtype)
    drawn = jax.random.normal(key, shape, wide) * jnp.asarray(std, wide) + jnp.asarray(mean, wide)
    return drawn.astype(dtype)


def _log_normal(key: Any, shape: tuple[int, ...], dtype: Any, mean: Any = 1.0, std: Any = 2.0) -> Array:
    return jnp.exp(_normal(key, shape, _wide(dtype), mean, std)).astype(dtype)


def _exponential(key: Any, shape: tuple[int, ...], dtype: Any, rate: Any = 1.0) -> Array:
    wide = _wide(dtype)
    # Never 0: others are divided by these numbers.
    drawn = jnp.maximum(jax.random.uniform(key, shape, wide), _LEAST if wide == jnp.float32 else _LEAST**2)
    return (-jnp.log1p(-drawn) / jnp.asarray(rate, wide)).astype(dtype)


def _cauchy(key: Any, shape: tuple[int, ...], dtype: Any, median: Any = 0.0, sigma: Any = 1.0) -> Array:
    wide = _wide(dtype)
    return (jax.random.cauchy(key, shape, wide) * jnp.asarray(sigma, wide) + jnp.asarray(median, wide)).astype(dtype)


def _geometric(key: Any, shape: tuple[int, ...], dtype: Any, p: Any) -> Array:
    wide = _wide(dtype)
    trials = jnp.ceil(-_exponential(key, shape, wide) / jnp.log1p(-jnp.asarray(p, wide)))
    return jnp.maximum(trials, 1).astype(dtype)


def _truths(key: Any, shape: tuple[int, ...], dtype: Any, p: Any = 0.5) -> Array:
    """Draw true with a probability, which 32 bits measure."""
    p = jnp.asarray(p, jnp.float64)
    bits = jax.random.bits(key, shape, jnp.uint32)
    return ((bits < (p * 2.0**32).astype(jnp.uint32)) | (p >= 1)).astype(dtype)


def _truths_of(key: Any, chances: Array) -> Array:
    wide = jnp.float64 if chances.dtype == jnp.float64 else jnp.float32
    bits = jax.random.bits(key, chances.shape, jnp.uint32).astype(wide)
    chances = chances.astype(wide)
    return (bits < chances * 2.0**32) | (chances >= 1)


def _as_unsigned(number: Any) -> Any:
    """Return an integer as 64 bits."""
    return number.astype(jnp.uint64) if isinstance(number, jax.Array) else np.uint64(number % (1 << 64))


def _count(dtype: Any) -> int:
    """Return the first integer that `random_` does not draw by default."""
    if dtype == jnp.bool_:
        return 2
    if jnp.issubdtype(dtype, jnp.integer):
        return int(jnp.iinfo(dtype).max) + 1
    return (1 << (jnp.finfo(dtype).nmant + 1)) + 1


def _integers(key: Any, shape: tuple[int, ...], dtype: Any, *bounds: Any) -> Array:
    """Draw integers from the first bound to below the second, both given as 64 bits."""
    low, length = jnp.asarray(bounds[0], jnp.uint64), jnp.asarray(bounds[1], jnp.uint64)
    bits = jax.random.bits(key, shape, jnp.uint64)
    drawn = low + jnp.where(length == 0, bits, bits % jnp.maximum(length, 1))  # all 64 bits have the length 0
    if jnp.issubdtype(dtype, jnp.floating):
        return drawn.astype(jnp.int64).astype(dtype)
    return drawn.astype(dtype)


def _range(dtype: Any, *bounds: Any) -> tuple[Any, ...]:
    """Return the first integer of a range, and its length, as 64 bits."""
    low, high = (0, *bounds) if len(bounds) < 2 else bounds
    low = _as_unsigned(low)
    with np.errstate(over="ignore"):
        return low, _as_unsigned(_count(dtype) if high is None else high) - low


def _default_range(dtype: Any, *bounds: Any) -> tuple[Any, ...]:
    return _range(dtype, *bounds or (None,))


@lru_cache(maxsize=4096)
def _compile(draw: Callable[..., Array], shape: tuple[int, ...] | None, dtype: Any, place: Any) -> Callable[..., Array]:
    """Return the compiled function of a draw of a shape, or of one for each element of arrays."""

    def run(pair: Any, *given: Any) -> Array:
        key = make_key(pair)
        return draw(key, *given) if shape is None else draw(key, shape, dtype, *given)

    found: Callable[..., Array] = jax.jit(run) if place is None else jax.jit(run, out_shardings=place)
    return found


def _run(
    draw: Callable[..., Array], like: Array, generator: Any, given: tuple[Any, ...], shape: tuple[int, ...] | None
) -> Array:
    """Draw, and lay the result as an array lies whose shape it has."""
    key = take_key(generator)
    if key is not None:
        return place_like(draw(key, *given) if shape is None else draw(key, shape, like.dtype, *given), like)
    pair = take_pair(index_of(like) if several() else None, generator)
    is_traced = any(isinstance(each, jax.core.Tracer) for each in (like, *given))
    place = None if shape is None or is_traced else place_of(like)
    function = _compile(draw, shape, None if shape is None else like.dtype, place)
    with jax.threefry_partitionable(True):
        if is_traced:
            return function(pair, *given)
        with jax.ensure_compile_time_eval():  # in a function that the program has JAX follow, too
            found = function(pair, *given)
    return found if place is not None else place_like(found, like)


def _make(
    name: str, draw: Callable[..., Array], prepare: Callable[..., tuple[Any, ...]] | None = None
) -> Callable[[ArrayLibrary], Kernel]:
    """Make the kernel of an operator that draws an array like another one by numbers."""

    def build(library: ArrayLibrary) -> Kernel:
        def kernel(self: Array, *numbers: Any, generator: Any = None) -> Array:
            if not any(
                isinstance(each, jax.core.Tracer) for each in numbers
            ):  # those were looked at when they were recorded
                RULES[name](library.meta(self), *numbers)
            given = numbers if prepare is None else prepare(self.dtype, *numbers)
            return _run(draw, self, generator, given, tuple(self.shape))

        return kernel

    return build


def _make_sampler(name: str, draw: Callable[..., Array], numbers: int = 0) -> Callable[[ArrayLibrary], Kernel]:
    """Make the kernel of an operator that draws a number for each element of its arrays, which stand behind ``numbers``.

    The generator may stand last, too.
    """

    def build(library: ArrayLibrary) -> Kernel:
        def kernel(*args: Any, generator: Any = None) -> Array:
            if args[-1] is None or isinstance(args[-1], Generator):
                args, generator = args[:-1], args[-1]
            arrays = args[numbers:]
            dtype = RULES[name](*[0.0] * numbers, *map(library.meta, arrays)).dtype
            return library.cast(_run(draw, arrays[0], generator, args, None), dtype)

        return kernel

    return build


def _poisson(key: Any, rates: Array) -> Array:
    return jax.random.poisson(key, rates.astype(_wide(rates.dtype)), rates.shape, jnp.int64)


def _binomial(key: Any, count: Array, chance: Array) -> Array:
    shape, wide = jnp.broadcast_shapes(count.shape, chance.shape), _wide(count.dtype)
    return jax.random.binomial(key, count.astype(wide), chance.astype(wide), shape, wide)


def _gamma(key: Any, concentration: Array) -> Array:
    drawn = jax.random.gamma(key, concentration, concentration.shape, concentration.dtype)
    return jnp.maximum(drawn, jnp.finfo(drawn.dtype).tiny)


def _normal_of_spreads(key: Any, mean: Any, std: Array) -> Array:
    return _normal(key, std.shape, std.dtype) * std + jnp.asarray(mean, std.dtype)


def _normal_of_both(key: Any, mean: Array, std: Array) -> Array:
    shape = jnp.broadcast_shapes(mean.shape, std.shape)
    return _normal(key, shape, mean.dtype) * std.astype(mean.dtype) + mean


def _truths_by(key: Any, array: Array, chances: Array) -> Array:
    return _truths_of(key, jnp.broadcast_to(chances, array.shape))


def _multinomial(key: Any, weights: Array, count: int, replacement: bool) -> Array:
    """Draw the greatest of the weights over exponential numbers; with replacement the places in the sums of weights."""
    if count == 1 or not replacement:
        weights = weights.astype(_wide(weights.dtype))
        ratios = weights / _exponential(key, weights.shape, weights.dtype)
        return jnp.argmax(ratios, -1, keepdims=True) if count == 1 else jax.lax.top_k(ratios, count)[1]
    sums = jnp.cumsum(weights.astype(jnp.float64), -1)
    draws = jax.random.uniform(key, (*weights.shape[:-1], count), jnp.float64) * sums[..., -1:]
    # The first sum above the draw is never that of a weight of 0, but where rounding gives the whole sum.
    find = partial(jnp.searchsorted, side="right")
    places = find(sums, draws) if sums.ndim == 1 else jax.vmap(find)(sums, draws)
    last = sums.shape[-1] - 1 - jnp.argmax(weights[..., ::-1] > 0, -1, keepdims=True)
    return jnp.minimum(places, last)


@cache
def _multinomial_of(count: int, replacement: bool) -> Callable[..., Array]:
    return partial(_multinomial, count=count, replacement=replacement)


def _make_multinomial(library: ArrayLibrary) -> Kernel:
    def kernel(self: Array, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Array:
        RULES["multinomial"](library.meta(self), num_samples, replacement)
        found = _run(_multinomial_of(num_samples, bool(replacement)), self, generator, (self,), None)
        return library.cast(found, ScalarType.Long)

    return kernel


def _make_gamma_gradient(library: ArrayLibrary) -> Kernel:
    def kernel(self: Array, output: Array) -> Array:
        RULES["_standard_gamma_grad"](library.meta(self), library.meta(output))
        return jax.lax.random_gamma_grad(*jnp.broadcast_arrays(self, output))

    return kernel


#: The operators that draw → the functions that make their kernels.
DRAWS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    "uniform": _make("uniform", _uniform),
    "normal_functional": _make("normal_functional", _normal),
    "exponential": _make("exponential", _exponential),
    "cauchy": _make("cauchy", _cauchy),
    "geometric": _make("geometric", _geometric),
    "log_normal": _make("log_normal", _log_normal),
    "bernoulli.p": _make("bernoulli.p", _truths),
    "random": _make("random", _integers, _default_range),
    "random.to": _make("random.to", _integers, _range),
    "random.from": _make("random.from", _integers, _range),
    "bernoulli": _make_sampler("bernoulli", _truths_of),
    "bernoulli.Tensor": _make_sampler("bernoulli.Tensor", _truths_by),
    "normal.float_Tensor": _make_sampler("normal.float_Tensor", _normal_of_spreads, 1),
    "normal.Tensor_Tensor": _make_sampler("normal.Tensor_Tensor", _normal_of_both),
    "poisson": _make_sampler("poisson", _poisson),
    "binomial": _make_sampler("binomial", _binomial),
    "_standard_gamma": _make_sampler("_standard_gamma", _gamma),
    "multinomial": _make_multinomial,
}
KERNELS: Final = {**DRAWS, "_standard_gamma_grad": _make_gamma_gradient}
