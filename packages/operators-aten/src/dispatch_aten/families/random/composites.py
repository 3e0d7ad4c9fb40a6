"""Random factories and functions in terms of the in-place generators, so that a backend writes each distribution once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, is_array, meta_of, numel, overload
from dispatch_aten.dtypes import ScalarType, bool_, float64, get_default_dtype, int64
from dispatch_aten.errors import OperatorError
from dispatch_aten.families.special.host import draw_on_host
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _sample(name: str, draw: Callable[..., Array]) -> Callable[..., Array]:
    """Make the kernel of ``name(size, *, generator=None, dtype, device)``."""

    def kernel(
        size: Sequence[int],
        *,
        generator: Any = None,
        dtype: ScalarType | None = None,
        device: Any = None,
        **options: Any,
    ) -> Array:
        RULES[name](size, dtype=dtype)
        fresh = aten.empty.memory_format(size, dtype=get_default_dtype() if dtype is None else dtype, device=device)
        return draw(fresh, generator=generator)

    return kernel


def _sample_like(name: str, draw: Callable[..., Array]) -> Callable[..., Array]:
    def kernel(self: Array, *, generator: Any = None, **options: Any) -> Array:
        RULES[name](meta_of(self), dtype=options.get("dtype"))
        return draw(aten.empty_like.default(self, **options), generator=generator)

    return kernel


def _draw(name: str, fresh: Array, *args: Any, generator: Any) -> Array:
    """Return a fresh array with numbers that the in-place operator ``name`` draws; a new one where it is immutable."""
    return _function_for(name, fresh)(fresh, *args, generator=generator)


def _returning(name: str) -> str:
    """Return the name of the operator that returns what the in-place one ``name`` writes."""
    packet, dot, overload = name.partition(".")
    return {"normal_": "normal_functional", "bernoulli_.float": "bernoulli.p"}.get(name, packet[:-1] + dot + overload)


def _function_for(name: str, array: Array) -> Callable[..., Array]:
    """Return the in-place operator ``name``, or for an array that cannot be written to the one that returns numbers."""
    found: Callable[..., Array] = overload(name if dc.is_mutable(array) else _returning(name))
    return found


def _draw_inplace(name: str) -> Callable[..., Array]:
    """Make the kernel of an in-place generator for devices without one: the host draws, the device copies."""

    def kernel(self: Array, *args: Any, generator: Any = None) -> Array:
        RULES[name](meta_of(self), *args)
        if dc.is_mutable(self):
            return aten.copy_.default(self, draw_on_host(name, self, args, generator))
        return aten.copy_.default(self, _function_for(name, self)(self, *args, generator=generator))

    return kernel


def _draw_fresh(name: str) -> Callable[..., Array]:
    """Make the kernel of the operator that returns what the in-place one ``name`` would write."""

    def kernel(self: Array, *args: Any, generator: Any = None) -> Array:
        RULES[_returning(name)](meta_of(self), *args)
        if not dc.is_mutable(self):
            return draw_on_host(name, self, args, generator)
        return overload(name)(aten.empty_like.default(self), *args, generator=generator)

    return kernel


def _uniform(self: Array, *, generator: Any = None) -> Array:
    return _draw("uniform_", self, 0.0, 1.0, generator=generator)


def _normal(self: Array, *, generator: Any = None) -> Array:
    return _draw("normal_", self, 0.0, 1.0, generator=generator)


def _randint_low(
    low: int,
    high: int,
    size: Sequence[int],
    *,
    generator: Any = None,
    dtype: ScalarType | None = int64,
    device: Any = None,
    **options: Any,
) -> Array:
    RULES["randint.low"](low, high, size, dtype=dtype)
    fresh = aten.empty.memory_format(size, dtype=int64 if dtype is None else dtype, device=device)
    return _draw("random_.from", fresh, low, high, generator=generator)


def _randint_like_low(self: Array, low: int, high: int, *, generator: Any = None, **options: Any) -> Array:
    fresh = aten.empty_like.default(self, **options)
    return _draw("random_.from", fresh, low, high, generator=generator)


def _is_of(generator: Any, place: dc.Device) -> bool:
    """Return whether a generator draws for a device of this type and index."""
    have = generator.device
    return bool(have.type == place.type and have.index in (None, place.index or 0))


def _randperm(
    n: int, *, generator: Any = None, dtype: ScalarType | None = int64, device: Any = None, **options: Any
) -> Array:
    RULES["randperm"](n, dtype=dtype)
    keys = aten.empty.memory_format((n,), dtype=ScalarType.Double, device=device)
    place = dc.device(keys)
    if generator is not None and not _is_of(generator, place):
        raise OperatorError(
            f"Expected a '{place}' generator device but found '{generator.device}'",
            operator="aten::randperm",
            argument="generator",
        )
    order = aten.argsort.default(_uniform(keys, generator=generator), 0, False)
    return order if dtype is None else cast(order, dtype)


def _random_to(self: Array, to: int, *, generator: Any = None) -> Array:
    return getattr(aten.random_, "from")(self, 0, to, generator=generator)


def _bernoulli(self: Array, *, generator: Any = None) -> Array:
    RULES["bernoulli"](meta_of(self))
    draws = aten.empty_like.default(self, memory_format=0)
    return aten._to_copy.default(
        aten.lt.Tensor(_uniform(draws, generator=generator), self), dtype=dc.dtype(self), memory_format=0
    )


def _bernoulli_p(self: Array, p: float, *, generator: Any = None) -> Array:
    RULES["bernoulli.p"](meta_of(self), p)
    if not dc.is_mutable(self):
        return draw_on_host("bernoulli_.float", self, (p,), generator)
    draws = aten.empty_like.default(self, dtype=get_default_dtype(), memory_format=0)
    return cast(aten.lt.Scalar(_uniform(draws, generator=generator), p), dc.dtype(self))


def draw_mask(self: Array, p: float) -> Array:
    """Return a mask that is true with the probability ``p``, and that lies in memory as ``self`` does."""
    return _draw("bernoulli_.float", aten.empty_like.default(self, dtype=bool_), p, generator=None)


def _bernoulli_float_inplace(self: Array, p: float = 0.5, *, generator: Any = None) -> Array:
    RULES["bernoulli_.float"](meta_of(self), p)
    if not dc.is_mutable(self):
        return aten.copy_.default(self, aten.bernoulli.p(self, p, generator=generator))
    draws = aten.empty_like.default(self, dtype=get_default_dtype())
    hit = aten.lt.Scalar(_uniform(draws, generator=generator), p)
    return aten.copy_.default(self, hit)


def _bernoulli_tensor_inplace(self: Array, p: Array, *, generator: Any = None) -> Array:
    RULES["bernoulli_.Tensor"](meta_of(self), meta_of(p))
    draws = aten.empty_like.default(self, dtype=dc.dtype(p))
    hit = aten.lt.Tensor(_uniform(draws, generator=generator), p)
    return aten.copy_.default(self, hit)


def _bernoulli_tensor(self: Array, p: Array, *, generator: Any = None) -> Array:
    RULES["bernoulli.Tensor"](meta_of(self), meta_of(p))
    draws = aten.empty_like.default(self, dtype=dc.dtype(p))
    return cast(aten.lt.Tensor(_uniform(draws, generator=generator), p), dc.dtype(self))


def _check_spread(std: Array) -> None:
    if numel(std) and not aten.item.default(aten.ge.Scalar(aten.min.default(std), 0)):
        raise OperatorError("normal expects all elements of std >= 0.0", operator="aten::normal", argument="std")


def _normal_about(mean: Array, std: float = 1.0, *, generator: Any = None) -> Array:
    RULES["normal.Tensor_float"](meta_of(mean), std)
    fresh = aten.empty_like.default(mean, memory_format=0)
    return aten.add.Tensor(_draw("normal_", fresh, 0.0, std, generator=generator), mean)


def _normal_of_spreads(mean: Array | float, std: Array, *, generator: Any = None) -> Array:
    has_means = is_array(mean)
    overload = "normal.Tensor_Tensor" if has_means else "normal.float_Tensor"
    found = RULES[overload](meta_of(mean) if has_means else mean, meta_of(std))
    _check_spread(std)
    like = mean if has_means else std
    fresh = aten.new_empty.default(like, found.shape)
    drawn = aten.mul.Tensor(_normal(fresh, generator=generator), cast(std, dc.dtype(like)))
    return aten.add.Tensor(drawn, mean) if has_means else aten.add.Scalar(drawn, mean)


def _normal_sized(
    mean: float,
    std: float,
    size: Sequence[int],
    *,
    generator: Any = None,
    dtype: ScalarType | None = None,
    device: Any = None,
    **options: Any,
) -> Array:
    RULES["normal.float_float"](mean, std, size, dtype=dtype)
    fresh = aten.empty.memory_format(size, dtype=get_default_dtype() if dtype is None else dtype, device=device)
    return _draw("normal_", fresh, mean, std, generator=generator)


def _check_weights(self: Array, replacement: bool) -> None:
    """Refuse weights that are no distribution, each way of drawing in words of its own."""
    zero = aten.eq.Scalar(aten.sum.dim_IntList(self, [-1]), 0)
    bad = aten.logical_or.default(aten.logical_not.default(aten.isfinite.default(self)), aten.lt.Scalar(self, 0))
    if aten.item.default(aten.any.default(bad)):
        text = (
            "invalid multinomial distribution (encountering probability entry < 0)"
            if replacement
            else "probability tensor contains either `inf`, `nan` or element < 0"
        )
        raise OperatorError(text, operator="aten::multinomial", argument="self")
    if aten.item.default(aten.any.default(zero)):
        raise OperatorError(
            "invalid multinomial distribution (sum of probabilities <= 0)",
            operator="aten::multinomial",
            argument="self",
        )


def _multinomial(self: Array, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Array:
    """Draw the greatest of the weights over exponential numbers; with replacement the places in the sums of weights."""
    found = RULES["multinomial"](meta_of(self), num_samples, replacement)
    _check_weights(self, replacement and num_samples > 1)
    if num_samples == 1 or not replacement:
        draws = _draw("exponential_", aten.empty_like.default(self), 1.0, generator=generator)
        ratios = aten.div.Tensor(self, draws)
        if num_samples == 1:
            return aten.argmax.default(ratios, -1, True)
        return aten.topk.default(ratios, num_samples)[1]
    sums = aten.cumsum.default(self, -1)
    sums = aten.div.Tensor(sums, aten.slice.Tensor(sums, -1, -1))
    draws = aten.new_empty.default(self, found.shape, dtype=float64)
    draws = _uniform(draws, generator=generator)
    places = aten.searchsorted.Tensor(cast(sums, float64), draws)
    return aten.clamp_max.default(places, dc.shape(self)[-1] - 1)


def _sample_dirichlet(self: Array, generator: Any = None) -> Array:
    """Divide numbers of gamma distributions by their sum, and keep the shares between 0 and 1."""
    RULES["_sample_dirichlet"](meta_of(self))
    draws = aten._standard_gamma.default(cast(self, float64), generator=generator)
    shares = cast(aten.div.Tensor(draws, aten.sum.dim_IntList(draws, [-1], True)), dc.dtype(self))
    wide = dc.dtype(self) == float64
    least, most = (2.0**-1022, 1 - 2.0**-53) if wide else (2.0**-126, 1 - 2.0**-24)
    return aten.clamp.default(shares, least, most)


def _dropout(input: Array, p: float, train: bool) -> Array:
    if not 0 <= p <= 1:
        raise OperatorError(
            f"dropout probability has to be between 0 and 1, but got {p:g}", operator="aten::dropout", argument="p"
        )
    if p == 0 or not train or not numel(input):
        return input
    return aten.native_dropout.default(input, p, train)[0]


def _dropout_inplace(self: Array, p: float, train: bool) -> Array:
    if not train or p == 0:
        return self
    return aten.copy_.default(self, aten.dropout.default(self, p, train))


def _native_dropout(input: Array, p: float, train: bool | None) -> tuple[Array, Array]:
    if not numel(input):
        return input, aten.empty_like.default(input)
    if train is False:
        return aten.clone.default(input), aten.ones_like.default(input, dtype=bool_)
    RULES["native_dropout"](meta_of(input), p, train)
    kept = draw_mask(input, 1 - p)
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    return aten.mul.Scalar(aten.mul.Tensor(input, kept), scale), kept


def _native_dropout_backward(grad_output: Array, mask: Array, scale: float) -> Array:
    return aten.mul.Scalar(aten.mul.Tensor(grad_output, mask), scale)
