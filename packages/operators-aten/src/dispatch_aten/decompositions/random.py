"""Random factories and functions in terms of the in-place generators, so that a backend writes each distribution once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, bool_, get_default_dtype, int64
from dispatch_aten.errors import OperatorError
from dispatch_aten.shapes import RULES

from ._host import draw_on_host
from ._shared import Array, aten, cast, meta_of, numel, overload

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
    if not dc.is_mutable(fresh):
        return draw_on_host(name, fresh, args, generator)
    return overload(name)(fresh, *args, generator=generator)


def _draw_inplace(name: str) -> Callable[..., Array]:
    """Make the kernel of an in-place generator for devices without one: the host draws, the device copies."""

    def kernel(self: Array, *args: Any, generator: Any = None) -> Array:
        RULES[name](meta_of(self), *args)
        return aten.copy_.default(self, draw_on_host(name, self, args, generator))

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


def _randperm(
    n: int, *, generator: Any = None, dtype: ScalarType | None = int64, device: Any = None, **options: Any
) -> Array:
    RULES["randperm"](n, dtype=dtype)
    keys = aten.empty.memory_format((n,), dtype=ScalarType.Double, device=device)
    order = aten.argsort.default(_uniform(keys, generator=generator), 0, False)
    return order if dtype is None else cast(order, dtype)


def _random_to(self: Array, to: int, *, generator: Any = None) -> Array:
    return getattr(aten.random_, "from")(self, 0, to, generator=generator)


def _bernoulli(self: Array, *, generator: Any = None) -> Array:
    RULES["bernoulli"](meta_of(self))
    hit = aten.lt.Tensor(_uniform(aten.empty_like.default(self), generator=generator), self)
    return cast(hit, dc.dtype(self))


def _bernoulli_p(self: Array, p: float, *, generator: Any = None) -> Array:
    RULES["bernoulli_.float"](meta_of(self), p)
    draws = aten.empty_like.default(self, dtype=get_default_dtype(), memory_format=0)
    return cast(aten.lt.Scalar(_uniform(draws, generator=generator), p), dc.dtype(self))


def _bernoulli_float_inplace(self: Array, p: float = 0.5, *, generator: Any = None) -> Array:
    RULES["bernoulli_.float"](meta_of(self), p)
    draws = aten.empty_like.default(self, dtype=get_default_dtype())
    hit = aten.lt.Scalar(_uniform(draws, generator=generator), p)
    return aten.copy_.default(self, hit)


def _bernoulli_tensor_inplace(self: Array, p: Array, *, generator: Any = None) -> Array:
    RULES["bernoulli_.Tensor"](meta_of(self), meta_of(p))
    draws = aten.empty_like.default(self, dtype=dc.dtype(p))
    hit = aten.lt.Tensor(_uniform(draws, generator=generator), p)
    return aten.copy_.default(self, hit)


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
    kept = aten.bernoulli.p(aten.empty_like.default(input, dtype=bool_), 1 - p)
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    return aten.mul.Scalar(aten.mul.Tensor(input, kept), scale), kept


def _native_dropout_backward(grad_output: Array, mask: Array, scale: float) -> Array:
    return aten.mul.Scalar(aten.mul.Tensor(grad_output, mask), scale)


_GENERATORS: Final = ("uniform_", "normal_", "random_.from", "random_", "exponential_")
"""The in-place generators, which the host serves for devices that have none."""

IMPLICIT: Final[dict[str, Callable[..., Any]]] = {"dropout": _dropout, "dropout_": _dropout_inplace}

_FACTORIES: Final[dict[str, Callable[..., Any]]] = {
    "rand": _sample("rand", _uniform),
    "randn": _sample("randn", _normal),
    "rand_like": _sample_like("rand_like", _uniform),
    "randn_like": _sample_like("randn_like", _normal),
    "randint": lambda high, size, **options: _randint_low(0, high, size, **options),
    "randint_like": lambda self, high, **options: _randint_like_low(self, 0, high, **options),
    "randperm": _randperm,
}
"""The kernels of factories, which serve their overloads with a generator too."""

EXPLICIT: Final[dict[str, Callable[..., Any]]] = {
    **_FACTORIES,
    **{f"{name}.generator": kernel for name, kernel in _FACTORIES.items()},
    "randint.low": _randint_low,
    "randint.low_generator": _randint_low,
    "randint_like.low_dtype": _randint_like_low,
    "randint_like.low_generator_dtype": _randint_like_low,
    "random_.to": _random_to,
    **{name: _draw_inplace(name) for name in _GENERATORS},
    "bernoulli": _bernoulli,
    "bernoulli.p": _bernoulli_p,
    "bernoulli_.float": _bernoulli_float_inplace,
    "bernoulli_.Tensor": _bernoulli_tensor_inplace,
    "native_dropout": _native_dropout,
    "native_dropout_backward": _native_dropout_backward,
}
