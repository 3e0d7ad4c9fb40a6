"""Random numbers: torch's own streams, number by number, where its algorithms are open.

``bernoulli`` with one probability and ``exponential_`` are drawn by torch through a closed library; here they follow torch's
portable kernels, so their streams are torch's only where torch is built without that library.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import DEFAULT_DTYPE, ScalarType
from dispatch_aten.errors import OperatorError
from dispatch_aten.generator import Generator, default_generator

from . import distributions, draws
from .arrays import (
    NUMPY_DTYPES,
    Array,
    check_writable,
    dtype_of,
    empty_strided,
    is_row_major,
    numpy_dtype,
)
from .fp_errors import ignore_fp_errors
from .kernel_table import Kernel, KernelTable, computed_by
from .mersenne_twister import MersenneTwister
from .ops.support.constants import NUMBERS
from .ops.support.rule_kernels import make_elementwise, make_kernel
from .output_specs import OutputSpec, infer_output, output_rule

KERNELS: Final = KernelTable()


def check_generator(generator: Generator | None) -> Generator:
    """Return a generator of the cpu, its default one for None; raises ``OperatorError`` for another device's."""
    source = _DEFAULT if generator is None else generator
    if source is not _DEFAULT and source.device.type != "cpu":
        raise OperatorError(
            f"Expected a 'cpu' device type for generator but found '{source.device.type}'", argument="generator"
        )
    return source


def engine_of(source: Generator) -> MersenneTwister:
    """Return the engine of a generator whose lock is held, made of its seed on first use."""
    if source.engine is None:
        source.engine = MersenneTwister(source.initial_seed())
    engine: MersenneTwister = source.engine
    return engine


@contextmanager
def hold_engine(generator: Generator | None) -> Iterator[MersenneTwister]:
    """Hold a generator, and yield its engine."""
    source = check_generator(generator)
    with source.lock:
        yield engine_of(source)


_DEFAULT: Final = default_generator("cpu")


Draw = Callable[..., None]
Fresh = Callable[..., Array]
"""Draws for an engine, a size and a dtype, and returns a new vector."""


def _inplace(name: str, draw: Draw) -> Kernel:
    infer = output_rule(name)

    @ignore_fp_errors
    def kernel(self: Array, *args: Any, generator: Generator | None = None, **kwargs: Any) -> Array:
        infer(self, *args, **kwargs)
        check_writable(self)
        source = check_generator(generator)
        with source.lock:
            draw(engine_of(source), self, *args, **kwargs)
        return self

    return computed_by(kernel, draw)


def _inplace_plain(fill: Draw, is_valid: Callable[[float, float], bool], general: Kernel) -> Kernel:
    """Make an in-place kernel of two options that calls ``fill`` for plain ones, which need no rule."""

    def kernel(self: Array, first: float = 0.0, second: float = 1.0, generator: Generator | None = None) -> Array:
        if generator is not None or self.dtype not in NUMBERS or not self.flags.carray:
            return general(self, first, second, generator=generator)
        if (first != 0.0 or second != 1.0) and not (
            abs(first) < _LARGE and abs(second) < _LARGE and is_valid(first, second)
        ):
            return general(self, first, second, generator=generator)
        with _DEFAULT.lock:
            fill(engine_of(_DEFAULT), self, first, second)
        return self

    return computed_by(kernel, general)


_LARGE: Final = 1e6  # far below an overflow


def _random_from(engine: MersenneTwister, array: Array, low: int, high: int | None) -> None:
    if high is None:
        high = draws.greatest(array.dtype) + 1
    draws.fill_integers(engine, array, low, high)


_INPLACE: Final[dict[str, Draw]] = {
    "uniform_": draws.fill_uniform,
    "normal_": draws.fill_normal,
    "exponential_": draws.fill_exponential,
    "bernoulli_.float": draws.fill_bernoulli,
    "bernoulli_.Tensor": draws.fill_bernoulli,
    "cauchy_": draws.fill_cauchy,
    "log_normal_": draws.fill_log_normal,
    "geometric_": draws.fill_geometric,
    "random_": draws.fill_whole_range,
    "random_.to": lambda engine, array, to: draws.fill_integers(engine, array, 0, to),
    "random_.from": _random_from,
}
KERNELS.update({name: _inplace(name, draw) for name, draw in _INPLACE.items()})
KERNELS["uniform_"] = _inplace_plain(draws.fill_plain_uniform, operator.le, KERNELS["uniform_"])
KERNELS["normal_"] = _inplace_plain(draws.fill_plain_normal, lambda mean, std: std >= 0, KERNELS["normal_"])


def _factory(name: str, draw: Draw, sizes: int) -> Kernel:
    """Make a factory's kernel; the first ``sizes`` arguments (after a ``like`` array) are the range to draw from."""
    infer = output_rule(name)

    @ignore_fp_errors
    def kernel(*args: Any, **kwargs: Any) -> Array:
        spec = infer(*args, **kwargs)
        array = empty_strided(spec.shape, spec.strides, spec.array_dtype)
        bounds = args[1 : 1 + sizes] if isinstance(args[0], np.ndarray) else args[:sizes]
        source = check_generator(kwargs.get("generator"))
        with source.lock:
            draw(engine_of(source), array, *bounds)
        return array

    return computed_by(kernel, draw)


def _integers_below(engine: MersenneTwister, array: Array, *bounds: int) -> None:
    draws.fill_integers(engine, array, *(bounds if len(bounds) == 2 else (0, *bounds)))


_FACTORIES: Final[dict[str, tuple[Draw, int]]] = {
    "rand": (draws.fill_uniform, 0),
    "rand_like": (draws.fill_uniform, 0),
    "randn": (draws.fill_normal, 0),
    "randn_like": (draws.fill_normal, 0),
    "randint": (_integers_below, 1),
    "randint.low": (_integers_below, 2),
    "randint_like": (_integers_below, 1),
    "randint_like.low_dtype": (_integers_below, 2),
    "randperm": (draws.fill_permutation, 0),
}
_WITH_GENERATOR: Final = {
    "randint.low": "randint.low_generator",
    "randint_like.low_dtype": "randint_like.low_generator_dtype",
}
for _name, (_draw, _sizes) in _FACTORIES.items():
    for _overload in (_name, _WITH_GENERATOR.get(_name, f"{_name}.generator")):
        KERNELS[_overload] = _factory(_overload, _draw, _sizes)


def _of_size(fresh: Fresh, general: Kernel, takes_generator: bool) -> Kernel:
    """Make the kernel of a factory of a size: small arrays of floats are made without the rule."""

    def kernel(
        size: Sequence[int],
        *,
        generator: Generator | None = None,
        dtype: ScalarType | None = None,
        **options: Any,
    ) -> Array:
        made = NUMPY_DTYPES.get(dtype or DEFAULT_DTYPE.dtype)
        source = _DEFAULT if generator is None else generator
        if made not in NUMBERS or not -1 < (count := prod(size)) < _SMALL or (len(size) > 1 and min(size) < 0):
            given = {"generator": generator} if takes_generator else {}
            return general(size, dtype=dtype, **given, **options)
        if source is not _DEFAULT:
            check_generator(source)
        with source.lock:
            drawn = fresh(engine_of(source), count, made)
        return drawn if len(size) == 1 else drawn.reshape(size)

    return computed_by(kernel, general)


def _like(fresh: Fresh, general: Kernel, takes_generator: bool) -> Kernel:
    """Make the same for an array whose shape and dtype are taken."""

    def kernel(
        self: Array,
        *,
        generator: Generator | None = None,
        dtype: ScalarType | None = None,
        memory_format: int | None = None,
        **options: Any,
    ) -> Array:
        is_plain = generator is None and dtype is None and memory_format is None and self.dtype in NUMBERS
        if is_plain and 0 < self.size < _SMALL and is_row_major(self):
            with _DEFAULT.lock:
                drawn = fresh(engine_of(_DEFAULT), self.size, self.dtype)
            return drawn if self.ndim == 1 else drawn.reshape(self.shape)
        given = {"generator": generator} if takes_generator else {}
        return general(self, dtype=dtype, memory_format=memory_format, **given, **options)

    return computed_by(kernel, general)


_SMALL: Final = 4096
for _name, _fresh in (("rand", draws.draw_uniform), ("randn", draws.draw_normal)):
    for _make_form, _forms in (
        (_of_size, (_name, f"{_name}.generator")),
        (_like, (f"{_name}_like", f"{_name}_like.generator")),
    ):
        for _overload in _forms:
            KERNELS[_overload] = _make_form(_fresh, KERNELS[_overload], _overload.endswith("generator"))


def _permutation(general: Kernel, takes_generator: bool) -> Kernel:
    """Make the kernel of a short permutation of whole numbers, which needs no rule."""

    def kernel(n: int, *, generator: Generator | None = None, dtype: ScalarType | None = None, **options: Any) -> Array:
        if not (0 < n < _SMALL and (dtype is None or dtype is ScalarType.Long)):
            given = {"generator": generator} if takes_generator else {}
            return general(n, dtype=dtype, **given, **options)
        made = np.empty(n, np.int64)
        source = check_generator(generator)
        with source.lock:
            draws.fill_permutation(engine_of(source), made)
        return made

    return computed_by(kernel, general)


for _overload in ("randperm", "randperm.generator"):
    KERNELS[_overload] = _permutation(KERNELS[_overload], _overload.endswith("generator"))


@KERNELS("bernoulli", "bernoulli.p")
def _bernoulli_fresh(self: Array, p: float | None = None, *, generator: Generator | None = None) -> Array:
    if p is None and self.dtype in NUMBERS and 0 < self.size < _SMALL and is_row_major(self):
        flat = self.reshape(-1)
        if np.minimum.reduce(flat) >= 0 and np.maximum.reduce(flat) <= 1:
            source = check_generator(generator)
            with source.lock:
                drawn = engine_of(source).uniform(flat.size, self.dtype)
            return (drawn < flat).astype(self.dtype).reshape(self.shape)
    return _bernoulli_generally(self, p, generator=generator)


@ignore_fp_errors
def _bernoulli_generally(self: Array, p: float | None, *, generator: Generator | None) -> Array:
    spec = infer_output("bernoulli", self) if p is None else infer_output("bernoulli.p", self, p)
    array = empty_strided(spec.shape, spec.strides, numpy_dtype(dtype_of(self)))
    with hold_engine(generator) as engine:
        draws.fill_bernoulli(engine, array, self if p is None else p)
    return array


def _one_by_one(name: str, sample: Callable[..., float], *, normals: bool = False) -> Kernel:
    """Make the kernel of an operator that draws a number for each element of its arguments."""

    def kernel(spec: OutputSpec, *args: Any, generator: Generator | None = None) -> Array:
        arrays = np.broadcast_arrays(*(value for value in args if isinstance(value, np.ndarray)))
        source = next((value for value in args if isinstance(value, Generator)), generator)
        with hold_engine(source) as engine:
            sources: list[Callable[[], float]] = [lambda: float(engine.uniform(1, _DOUBLE)[0])]
            sources += [lambda: draws.draw_normal_singly(engine, 1)[0]] if normals else []
            found = [sample(*values, *sources) for values in zip(*(array.ravel() for array in arrays), strict=True)]
        return np.array(found, np.float64).reshape(spec.shape)

    return make_kernel(name, kernel)


_DOUBLE: Final = np.dtype(np.float64)


def _poisson(rate: float, uniform: Callable[[], float]) -> float:
    if not rate >= 0:
        raise OperatorError("invalid Poisson rate, expected rate to be non-negative", argument="self")
    return distributions.sample_poisson(float(rate), uniform)


def _binomial(count: float, chance: float, uniform: Callable[[], float]) -> float:
    return distributions.sample_binomial(float(count), float(chance), uniform)


def _gamma(shape: Any, uniform: Callable[[], float], normal: Callable[[], float]) -> float:
    return max(float(np.finfo(type(shape)).tiny), distributions.sample_gamma(shape, uniform, normal))


KERNELS["poisson"] = _one_by_one("poisson", _poisson)
KERNELS["binomial"] = _one_by_one("binomial", _binomial)
KERNELS["_standard_gamma"] = _one_by_one("_standard_gamma", _gamma, normals=True)
KERNELS["_standard_gamma_grad"] = make_elementwise("_standard_gamma_grad", distributions.gamma_gradient, 2)
KERNELS["_dirichlet_grad"] = make_elementwise("_dirichlet_grad", distributions.beta_gradient, 3)
