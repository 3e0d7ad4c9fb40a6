"""Random numbers that the device draws, by the seed and the offset of its generator.

A pipeline runs these kernels by themselves, because a plan would repeat the offset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.generator import Generator, hold_engine
from dispatch_aten.shapes import cached_rule, check_written, contiguous
from dispatch_core import Device

from ..aclnn.composition import compose
from ..aclnn.launch import CallInteger, allocate_result, collect_draw, forbid_collecting, launch
from ..arrays import AclArray

Kernel = Callable[..., AclArray]

_NARROW: Final = (ScalarType.Half, ScalarType.BFloat16)
_FLOATS: Final = (ScalarType.Float, ScalarType.Double, *_NARROW)
#: The device draws floats of 24 bits and cuts their fractions: in a longer range integers would not be equally likely.
_LONGEST: Final = 1 << 20
_LEAST: Final = 2.0**-24


def take_offset(
    array: AclArray, generator: Generator | None = None, *, numel: int | None = None
) -> tuple[CallInteger, CallInteger]:
    """Return seed and offset to draw a number for each element, or ``numel``, from a generator of the array's device.

    Raises ``OperatorError`` for the generator of another type of device.
    """
    count = array.spec.numel if numel is None else numel
    late: Any = collect_draw(generator, count)
    if late is not None:
        return late[0], late[1]
    with hold_engine(Device("npu", array.block.device), generator) as engine:
        seed, offset = engine.take(count)
    return CallInteger(seed), CallInteger(offset)


def _make_inplace(name: str, takes: Callable[..., bool], fill: Callable[..., None]) -> Kernel:
    """Make the kernel of an in-place operator from ``fill(array, generator, *args)``, composed where it does not serve."""
    rule = cached_rule(name)

    def kernel(self: AclArray, *args: Any, generator: Generator | None = None) -> AclArray:
        if not takes(self.spec.dtype, *args):
            forbid_collecting()
            found: AclArray = compose(name, self, *args, generator=generator)
            return found
        rule(self, *args)
        check_written(self.spec)
        if self.spec.numel:
            fill(self, generator, *args)
        return self

    return kernel


def _is_float(dtype: ScalarType, *args: Any) -> bool:
    return dtype in _FLOATS


def _is_not_complex(dtype: ScalarType, *args: Any) -> bool:
    return not dtype.is_complex


def _draw_uniform(array: AclArray, generator: Generator | None, low: float = 0.0, high: float = 1.0) -> None:
    if array.spec.dtype is ScalarType.Double:
        # The function draws floats, whatever it fills.
        launch("aclnnInplaceUniform", array, 0.0, 1.0, *take_offset(array, generator))
        _scale(array, high - low, low)
        return
    launch("aclnnInplaceUniform", array, low, high, *take_offset(array, generator))
    if array.spec.dtype in _NARROW:
        # The nearest number of the dtype may be the end, which is not included.
        is_end = allocate_result(contiguous(array.shape, ScalarType.Bool))
        launch("aclnnGeScalar", array, high, is_end)
        launch("aclnnInplaceMaskedFillScalar", array, is_end, low)


def _draw_normal(array: AclArray, generator: Generator | None, mean: float = 0.0, std: float = 1.0) -> None:
    if array.spec.dtype is ScalarType.Double:
        launch("aclnnInplaceNormal", array, 0.0, 1.0, *take_offset(array, generator))
        _scale(array, std, mean)
    else:
        launch("aclnnInplaceNormal", array, mean, std, *take_offset(array, generator))


def _scale(array: AclArray, factor: float, term: float) -> None:
    if factor != 1:
        launch("aclnnInplaceMuls", array, factor)
    if term:
        launch("aclnnInplaceAdds", array, term, 1)


def _draw_bernoulli(array: AclArray, generator: Generator | None, p: float = 0.5) -> None:
    launch("aclnnInplaceBernoulli", array, p, *take_offset(array, generator))


def _draw_exponential(array: AclArray, generator: Generator | None, lambd: float = 1.0) -> None:
    wide = array.spec.dtype in (ScalarType.Float, ScalarType.Double)
    draws = array if wide else allocate_result(contiguous(array.shape, ScalarType.Float))
    # Of numbers between 0 and 1, neither of them included, the logarithm is finite and never 0.
    launch("aclnnInplaceUniform", draws, _LEAST, 1.0, *take_offset(array, generator))
    launch("aclnnInplaceLog", draws)
    launch("aclnnInplaceMuls", draws, -1.0 / lambd)
    if not wide:
        launch("aclnnInplaceCopy", array, draws)


_MANTISSAS: Final = {ScalarType.Half: 11, ScalarType.BFloat16: 8, ScalarType.Float: 24, ScalarType.Double: 53}


def _read_range(dtype: ScalarType, *bounds: int | None) -> tuple[int, int]:
    """Return the ends of a range of integers, the second not included; by default all that the dtype holds."""
    low, high = (0, *bounds) if len(bounds) == 1 else bounds or (0, None)
    if high is None:
        if dtype is ScalarType.Bool:
            high = 2
        elif dtype.is_integral:
            high = int(dtype.bounds[1]) + 1
        else:
            high = (1 << _MANTISSAS[dtype]) + 1
    return low or 0, high


def _is_short(dtype: ScalarType, *bounds: int | None) -> bool:
    if dtype.is_complex:
        return False
    low, high = _read_range(dtype, *bounds)
    return high - low <= _LONGEST


def _draw_integers(array: AclArray, generator: Generator | None, *bounds: int | None) -> None:
    low, high = _read_range(array.spec.dtype, *bounds)
    whole = array if not low or array.spec.dtype is ScalarType.Long else None
    if whole is None:
        whole = allocate_result(contiguous(array.shape, ScalarType.Long))
    # From 0, because the function cuts fractions towards it, and rounds ends that are large.
    launch("aclnnInplaceRandom", whole, 0, high - low, *take_offset(array, generator))
    if low:
        launch("aclnnInplaceAdds", whole, low, 1)
    if whole is not array:
        launch("aclnnInplaceCopy", array, whole)


_bernoulli_rule: Final = cached_rule("bernoulli.p")


def _bernoulli(self: AclArray, p: float, *, generator: Generator | None = None) -> AclArray:
    if self.spec.dtype.is_complex:
        forbid_collecting()
        found: AclArray = compose("bernoulli.p", self, p, generator=generator)
        return found
    array = allocate_result(_bernoulli_rule(self, p))
    if array.spec.numel:
        _draw_bernoulli(array, generator, p)
    return array


_permutation_rule: Final = cached_rule("randperm")


def _make_permutation(name: str) -> Kernel:
    def kernel(n: int, *, generator: Generator | None = None, **options: Any) -> AclArray:
        spec = _permutation_rule(n, dtype=options.get("dtype", ScalarType.Long))
        array = allocate_result(spec)
        if generator is not None and generator.device not in (Device("npu"), Device("npu", array.block.device)):
            # It says which of its demands the generator does not meet.
            forbid_collecting()
            found: AclArray = compose(name, n, generator=generator, **options)
            return found
        if spec.numel:
            launch("aclnnRandperm", n, *take_offset(array, generator), array)
        return array

    return kernel


KERNELS: Final[dict[str, Kernel]] = {
    "uniform_": _make_inplace("uniform_", _is_float, _draw_uniform),
    "normal_": _make_inplace("normal_", _is_float, _draw_normal),
    "exponential_": _make_inplace("exponential_", _is_float, _draw_exponential),
    "bernoulli_.float": _make_inplace("bernoulli_.float", _is_not_complex, _draw_bernoulli),
    "bernoulli.p": _bernoulli,
    **{name: _make_inplace(name, _is_short, _draw_integers) for name in ("random_", "random_.to", "random_.from")},
    **{name: _make_permutation(name) for name in ("randperm", "randperm.generator")},
}
