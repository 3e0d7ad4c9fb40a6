"""Random numbers: torch's own streams, number by number, where its algorithms are open.

``bernoulli`` with one probability and ``exponential_`` are drawn by torch through a closed library; here they follow torch's
portable kernels, so their streams are torch's only where torch is built without that library.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import DEFAULT_DTYPE, ScalarType
from dispatch_aten.errors import OperatorError
from dispatch_aten.generator import Generator, default_generator

from . import distributions
from .arrays import (
    NUMPY_DTYPES,
    Array,
    check_writable,
    dtype_of,
    empty_strided,
    is_row_major,
    memory_order,
    numpy_dtype,
    reinterpret,
)
from .fp_errors import ignore_fp_errors
from .kernel_table import Kernel, KernelTable
from .mersenne_twister import MersenneTwister
from .ops.constants import NUMBERS, number
from .ops.rule_kernels import make_elementwise, make_kernel
from .output_specs import OutputSpec, half_as_float, infer_output, output_rule

KERNELS: Final = KernelTable()

_BLOCK: Final = 16


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


def _in_memory_order(array: Array) -> Array:
    """Return a view whose rows are in the order of memory, in which torch draws."""
    return array if array.flags.c_contiguous else array.transpose(memory_order(array))


def _fill(array: Array, values: Array) -> None:
    """Store drawn values, in the order in which the elements lie in memory."""
    if array.ndim == 1:
        array[...] = values
        return
    target = _in_memory_order(array)
    np.copyto(target, values.reshape(target.shape), casting="unsafe")


def _parts(array: Array) -> Array:
    """Return the real and imaginary parts of complex numbers, in the same memory."""
    dtype = array.real.dtype
    return reinterpret(array, dtype, (*array.shape, 2), (*array.strides, dtype.itemsize))


def _uniform(engine: MersenneTwister, array: Array, low: float = 0.0, high: float = 1.0) -> None:
    if array.dtype.kind == "c":
        array = _parts(array)
    _fill(array, _draw_uniform(engine, array.size, array.dtype, low, high))


def _draw_uniform(
    engine: MersenneTwister, size: int, dtype: np.dtype[Any], low: float = 0.0, high: float = 1.0
) -> Array:
    draws = engine.uniform(size, dtype)
    if low == 0 and high == 1 and dtype is draws.dtype:
        return draws
    wide = half_as_float(dtype).type
    low, high = wide(low), wide(high)
    # torch multiplies and adds in one step, which rounds once: float64 is exact enough for the product.
    exact = draws.astype(np.float64, copy=False)
    exact *= np.float64(high - low)
    exact += np.float64(low)
    values = exact.astype(wide, copy=False).astype(dtype, copy=False)
    # The upper bound is excluded; a value that is rounded up to it becomes the lower bound.
    rounded_up = values == high
    if rounded_up.any():
        values[rounded_up] = low
    return values


def _normal(engine: MersenneTwister, array: Array, mean: float = 0.0, std: float = 1.0) -> None:
    if array.dtype.kind == "c":
        # Each part has half of the variance.
        array, std = _parts(array), std / math.sqrt(2)
    if array.flags.c_contiguous:
        _fill(array, _draw_normal(engine, array.size, array.dtype, mean, std))
    else:
        _fill(array, np.asarray(_normal_singly(engine, array.size)) * std + mean)


def _draw_normal(
    engine: MersenneTwister, size: int, dtype: np.dtype[Any], mean: float = 0.0, std: float = 1.0
) -> Array:
    if size < _BLOCK:
        return (np.asarray(_normal_singly(engine, size)) * std + mean).astype(dtype)
    drawn = _normal_blocks(engine, size, dtype)
    if std != 1:
        drawn *= number(std, drawn)
    drawn += number(mean, drawn)  # which makes 0.0 of -0.0
    return drawn


def _normal_blocks(engine: MersenneTwister, size: int, dtype: np.dtype[Any]) -> Array:
    """Draw by Box and Muller in blocks of sixteen; where the last block is cut, the last sixteen are drawn again."""
    whole = size - size % _BLOCK
    # The draws of the cut block are thrown away, but for float16 and bfloat16, where torch does not draw them.
    again = 0 if whole == size else _BLOCK
    drawn = whole if dtype.char in "eE" else size
    draws = engine.uniform(drawn + again, dtype)
    if again:
        draws[whole : whole + _BLOCK] = draws[drawn:]
    result = np.empty(whole + again, draws.dtype)
    for start in range(0, whole + again, _TILE):
        stop = min(start + _TILE, whole + again)
        _box_muller(draws[start:stop], result[start:stop])
    if not again:
        return result
    made = np.empty(size, draws.dtype)
    made[:-_BLOCK] = result[: size - _BLOCK]
    made[-_BLOCK:] = result[whole:]
    return made


_TILE: Final = 32768  # elements whose intermediate values stay in the cache


def _box_muller(draws: Array, out: Array) -> None:
    """Make the first half of each block of radii, the second of angles; rows of eight would be slow to go through."""
    pairs, places = draws.reshape(-1, 2, _BLOCK // 2), out.reshape(-1, 2, _BLOCK // 2)
    radius = number(1, draws) - pairs[:, 0].copy()
    np.log(radius, radius)
    radius *= number(-2, draws)
    np.sqrt(radius, radius)
    theta = pairs[:, 1] * number(2 * math.pi, draws)
    part = np.cos(theta)
    part *= radius
    places[:, 0] = part
    np.sin(theta, theta)
    theta *= radius
    places[:, 1] = theta


def _normal_singly(engine: MersenneTwister, size: int) -> list[float]:
    """Draw in double precision two at a time, keeping the second for the next call."""
    result: list[float] = []
    while len(result) < size:
        if engine.spare_normal is not None:
            result.append(engine.spare_normal)
            engine.spare_normal = None
            continue
        first, second = engine.uniform(2, np.dtype(np.float64)).tolist()
        radius, theta = math.sqrt(-2 * math.log1p(-second)), 2 * math.pi * first
        engine.spare_normal = radius * math.sin(theta)
        result.append(radius * math.cos(theta))
    return result


def _integers(engine: MersenneTwister, array: Array, low: int, high: int) -> None:
    """Draw from [low, high) by the remainder of a draw, a long one where the range needs it."""
    span = high - low
    if span < _LONG_RANGE:
        # 32 bits divide in a fraction of the time of 64.
        offsets = (engine.words(array.size).astype(np.uint32) % np.uint32(span)).astype(np.int64)
        if low:
            offsets += low
        _fill(array, offsets)
        return
    draws = engine.double_words(array.size)
    offsets = draws if span > 0xFFFFFFFFFFFFFFFF else draws % np.uint64(span)
    # The sum wraps around as in C, so a range of all 64 bits works as well.
    _fill(array, (offsets + np.uint64(low & 0xFFFFFFFFFFFFFFFF)).view(np.int64))


_LONG_RANGE: Final = 1 << 28


def _greatest(dtype: np.dtype[Any]) -> int:
    """Return the greatest integer up to which ``dtype`` counts exactly."""
    return {"?": 1, "e": 1 << 11, "E": 1 << 8, "f": 1 << 24, "d": 1 << 53}.get(dtype.char) or int(np.iinfo(dtype).max)


def _whole_range(engine: MersenneTwister, array: Array) -> None:
    """Draw from all that the dtype counts exactly, from 0 upwards."""
    draws = engine.double_words(array.size) if array.dtype.char in "dlq" else engine.words(array.size)
    _fill(array, draws % np.uint64(_greatest(array.dtype) + 1))


def _exponential(engine: MersenneTwister, array: Array, lambd: float = 1.0) -> None:
    draws = engine.uniform(array.size, np.dtype(np.float64))
    _fill(array, -1 / lambd * np.log1p(-draws))


def _bernoulli(engine: MersenneTwister, array: Array, p: Any = 0.5) -> None:
    if isinstance(p, np.ndarray):
        if p.size and not (p.min() >= 0 and p.max() <= 1):
            raise OperatorError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.", argument="p")
        wanted = np.broadcast_to(p, array.shape).transpose(memory_order(array))
        _fill(array, engine.uniform(array.size, p.dtype).reshape(wanted.shape) < wanted)
        return
    _fill(array, engine.uniform(array.size, np.dtype(np.float64)) < p)


def _cauchy(engine: MersenneTwister, array: Array, median: float = 0.0, sigma: float = 1.0) -> None:
    draws = engine.uniform(array.size, np.dtype(np.float64))
    _fill(array, median + sigma * np.tan(math.pi * (draws - 0.5)))


def _log_normal(engine: MersenneTwister, array: Array, mean: float = 1.0, std: float = 2.0) -> None:
    _fill(array, np.exp(np.asarray(_normal_singly(engine, array.size)) * std + mean))


def _geometric(engine: MersenneTwister, array: Array, p: float) -> None:
    draws = engine.uniform(array.size, np.dtype(np.float64))
    _fill(array, np.ceil(np.log(draws) / math.log1p(-p)))


def _permutation(engine: MersenneTwister, array: Array) -> None:
    """Shuffle by Fisher and Yates, from the front."""
    count = array.size
    draws = engine.words(max(count - 1, 0)) % np.arange(count, 1, -1, dtype=np.uint64)
    if count >= _LONG_SHUFFLE:
        array[...] = _shuffle(draws.view(np.int64), count)
        return
    order = list(range(count))
    for place, step in enumerate(draws.tolist()):
        other = place + step
        order[place], order[other] = order[other], order[place]
    array[...] = order


_LONG_SHUFFLE: Final = 256


def _shuffle(draws: Array, count: int) -> Array:
    """Return where the elements are after step after step has exchanged ``place`` and ``place + draws[place]``.

    A step leaves in its place for good what the last step before it with the same partner has put there: the element of
    that step's own place at that time, which is found by going from step to step until none has written to the place.
    """
    places = np.arange(count)
    partners = places.copy()
    partners[:-1] += draws
    # Place → the last step before its own that has written to it, else itself; the last write to a place counts.
    origin = np.arange(count + 1)
    origin[np.where(partners == places, count, partners)] = places
    origin[count] = count
    while not np.array_equal(further := origin.take(origin), origin):
        origin = further
    # Steps with the same partner beside each other, in their order.
    keys = (partners << 32) | places
    keys.sort()
    partners, places = keys >> 32, keys & 0xFFFFFFFF
    taken = partners.copy()
    again = partners[1:] == partners[:-1]
    taken[1:][again] = origin[places[:-1][again]]
    found = np.empty(count, np.int64)
    found[places] = taken
    return found


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

    return kernel


def _inplace_plain(draw: Fresh, is_valid: Callable[[float, float], bool], general: Kernel) -> Kernel:
    """Make an in-place kernel of two options that stores what ``draw`` returns for plain ones, which need no rule."""

    def kernel(self: Array, first: float = 0.0, second: float = 1.0, generator: Generator | None = None) -> Array:
        flags = self.flags
        is_plain = generator is None and self.dtype in NUMBERS and flags.c_contiguous and flags.writeable
        if not is_plain or not (abs(first) < _LARGE and abs(second) < _LARGE and is_valid(first, second)):
            return general(self, first, second, generator=generator)
        with _DEFAULT.lock:
            drawn = draw(engine_of(_DEFAULT), self.size, self.dtype, first, second)
        self[...] = drawn if self.ndim == 1 else drawn.reshape(self.shape)
        return self

    return kernel


_LARGE: Final = 1e6  # far below what overflows


def _random_from(engine: MersenneTwister, array: Array, low: int, high: int | None) -> None:
    if high is None:
        high = _greatest(array.dtype) + 1
    _integers(engine, array, low, high)


_INPLACE: Final[dict[str, Draw]] = {
    "uniform_": _uniform,
    "normal_": _normal,
    "exponential_": _exponential,
    "bernoulli_.float": _bernoulli,
    "bernoulli_.Tensor": _bernoulli,
    "cauchy_": _cauchy,
    "log_normal_": _log_normal,
    "geometric_": _geometric,
    "random_": _whole_range,
    "random_.to": lambda engine, array, to: _integers(engine, array, 0, to),
    "random_.from": _random_from,
}
KERNELS.update({name: _inplace(name, draw) for name, draw in _INPLACE.items()})
KERNELS["uniform_"] = _inplace_plain(_draw_uniform, operator.le, KERNELS["uniform_"])
KERNELS["normal_"] = _inplace_plain(_draw_normal, lambda mean, std: std >= 0, KERNELS["normal_"])


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

    return kernel


def _integers_below(engine: MersenneTwister, array: Array, *bounds: int) -> None:
    _integers(engine, array, *(bounds if len(bounds) == 2 else (0, *bounds)))


_FACTORIES: Final[dict[str, tuple[Draw, int]]] = {
    "rand": (_uniform, 0),
    "rand_like": (_uniform, 0),
    "randn": (_normal, 0),
    "randn_like": (_normal, 0),
    "randint": (_integers_below, 1),
    "randint.low": (_integers_below, 2),
    "randint_like": (_integers_below, 1),
    "randint_like.low_dtype": (_integers_below, 2),
    "randperm": (_permutation, 0),
}
_WITH_GENERATOR: Final = {
    "randint.low": "randint.low_generator",
    "randint_like.low_dtype": "randint_like.low_generator_dtype",
}
for _name, (_draw, _sizes) in _FACTORIES.items():
    for _overload in (_name, _WITH_GENERATOR.get(_name, f"{_name}.generator")):
        KERNELS[_overload] = _factory(_overload, _draw, _sizes)


def _of_size(fresh: Fresh, general: Kernel) -> Kernel:
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
            given = {} if generator is None else {"generator": generator}
            return general(size, dtype=dtype, **given, **options)
        if source is not _DEFAULT:
            check_generator(source)
        with source.lock:
            drawn = fresh(engine_of(source), count, made)
        return drawn if len(size) == 1 else drawn.reshape(size)

    return kernel


def _like(fresh: Fresh, general: Kernel) -> Kernel:
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
        given = {} if generator is None else {"generator": generator}
        return general(self, dtype=dtype, memory_format=memory_format, **given, **options)

    return kernel


_SMALL: Final = 4096
for _name, _fresh in (("rand", _draw_uniform), ("randn", _draw_normal)):
    for _make_form, _forms in (
        (_of_size, (_name, f"{_name}.generator")),
        (_like, (f"{_name}_like", f"{_name}_like.generator")),
    ):
        for _overload in _forms:
            KERNELS[_overload] = _make_form(_fresh, KERNELS[_overload])


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
        _bernoulli(engine, array, self if p is None else p)
    return array


def _one_by_one(name: str, sample: Callable[..., float], *, normals: bool = False) -> Kernel:
    """Make the kernel of an operator that draws a number for each element of its arguments."""

    def kernel(spec: OutputSpec, *args: Any, generator: Generator | None = None) -> Array:
        arrays = np.broadcast_arrays(*(value for value in args if isinstance(value, np.ndarray)))
        source = next((value for value in args if isinstance(value, Generator)), generator)
        with hold_engine(source) as engine:
            draws: list[Callable[[], float]] = [lambda: float(engine.uniform(1, _DOUBLE)[0])]
            draws += [lambda: _normal_singly(engine, 1)[0]] if normals else []
            found = [sample(*values, *draws) for values in zip(*(array.ravel() for array in arrays), strict=True)]
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
