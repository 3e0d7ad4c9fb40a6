"""Factories in terms of ``empty``, and the forms that take their shape and dtype from a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, copy_into, fill, meta_of, missing_functional
from dispatch_aten.decompositions._writes import scatter_into
from dispatch_aten.dtypes import get_default_dtype, int64
from dispatch_aten.errors import AtenError
from dispatch_aten.families.factory.shapes import with_memory_format
from dispatch_aten.families.special.host import from_host
from dispatch_aten.promotion import Number, scalar_dtype
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dispatch_aten.dtypes import ScalarType


def _empty(
    size: Sequence[int],
    *,
    dtype: ScalarType | None = None,
    device: Any = None,
    memory_format: int | None = None,
    **options: Any,
) -> Array:
    meta = RULES["empty.memory_format"](size, dtype=dtype, memory_format=memory_format)
    target = dc.Device("cpu") if device is None else dc.Device.parse(device)
    if not dc.has_strides(target) and not dc.registry.has_kernel("aten::empty_strided", dc.device_key(target.type)):
        raise dc.NoKernelError(
            f"aten::empty.memory_format: no kernel for device {target}, whose arrays have no strides"
        )
    return aten.empty_strided.default(meta.shape, meta.strides, dtype=meta.dtype, device=device)


def _empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: ScalarType | None = None,
    device: Any = None,
    **options: Any,
) -> Array:
    """Make an array in row-major order, where arrays have no other."""
    meta = RULES["empty_strided"](size, stride, dtype=dtype)
    target = dc.Device("cpu") if device is None else dc.Device.parse(device)
    if dc.has_strides(target):
        is_masked = dc.registry.has_kernel("aten::empty_strided", dc.device_key(target.type))
        raise dc.NoKernelError(
            f"aten::empty_strided: no kernel for device {target}, whose arrays have strides",
            hint=f"the kernel under {dc.device_key(target.type).label} is masked off here" if is_masked else None,
        )
    return aten.empty.memory_format(meta.shape, dtype=meta.dtype, device=device)


def _zeros(size: Sequence[int], *, dtype: ScalarType | None = None, device: Any = None, **options: Any) -> Array:
    RULES["zeros"](size)
    return aten.full.default(size, 0, dtype=get_default_dtype() if dtype is None else dtype, device=device)


def _ones(size: Sequence[int], *, dtype: ScalarType | None = None, device: Any = None, **options: Any) -> Array:
    return aten.full.default(size, 1, dtype=get_default_dtype() if dtype is None else dtype, device=device)


def _full(
    size: Sequence[int], fill_value: Number, *, dtype: ScalarType | None = None, device: Any = None, **options: Any
) -> Array:
    dtype = scalar_dtype(fill_value) if dtype is None else dtype
    return fill(aten.empty.memory_format(size, dtype=dtype, device=device), fill_value)


def _arange_start(
    start: Number, end: Number, *, dtype: ScalarType | None = None, device: Any = None, **options: Any
) -> Array:
    return aten.arange.start_step(start, end, 1, dtype=dtype, device=device)


def _arange_step(
    start: Number, end: Number, step: Number = 1, *, dtype: ScalarType | None = None, device: Any = None, **options: Any
) -> Array:
    def make(host: dc.Device) -> Array:
        return aten.arange.start_step(start, end, step, dtype=dtype, device=host)

    return from_host("arange.start_step", device, make)


def _eye(n: int, *, dtype: ScalarType | None = None, device: Any = None, **options: Any) -> Array:
    return aten.eye.m(n, n, dtype=dtype, device=device)


def _eye_m(n: int, m: int, *, dtype: ScalarType | None = None, device: Any = None, **options: Any) -> Array:
    RULES["eye.m"](n, m)
    zeros = aten.zeros.default((n, m), dtype=dtype, device=device)
    one = aten.full.default((), 1, dtype=dc.dtype(zeros), device=device)
    return scatter_into(zeros, [(aten.diagonal.default, ())], one)


def _scalar_tensor(s: Number, *, dtype: ScalarType | None = None, device: Any = None, **options: Any) -> Array:
    return aten.full.default((), s, dtype=get_default_dtype() if dtype is None else dtype, device=device)


def _linspace(
    start: Number, end: Number, steps: int, *, dtype: ScalarType | None = None, device: Any = None, **options: Any
) -> Array:
    meta = RULES["linspace"](start, end, steps, dtype=dtype)
    computed = meta.dtype if meta.dtype.is_differentiable else get_default_dtype()
    if meta.dtype.is_integral and steps:
        low, high = meta.dtype.bounds
        # The ends are cut to whole numbers, and wrap around in unsigned types, before the step is taken.
        start, end = (int(value.real) if low else int(value.real) % (high + 1) for value in (start, end))
    if steps == 1:
        return aten.full.default((1,), start, dtype=meta.dtype, device=device)
    step = (end - start) / (steps - 1) if steps else 0
    places = aten.arange.start_step(0, steps, 1, dtype=int64, device=device)
    forward = aten.add.Scalar(aten.mul.Scalar(aten._to_copy.default(places, dtype=computed), step), start)
    # Both halves are measured from their own end, so that the last element is ``end`` exactly.
    back = aten._to_copy.default(aten.rsub.Scalar(places, steps - 1), dtype=computed)
    backward = aten.rsub.Scalar(aten.mul.Scalar(back, step), end)
    line = aten.where.self(aten.lt.Scalar(places, steps // 2), forward, backward)
    return line if computed == meta.dtype else aten._to_copy.default(line, dtype=meta.dtype)


def _empty_like(
    self: Array,
    *,
    dtype: ScalarType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    memory_format: int | None = None,
) -> Array:
    try:
        meta = with_memory_format(meta_of(self), dtype, memory_format)
    except AtenError as error:
        raise error.at("aten::empty_like") from None
    return aten.new_empty_strided.default(self, meta.shape, meta.strides, dtype=meta.dtype, device=device)


def _full_like(self: Array, fill_value: Number, **options: Any) -> Array:
    return fill(aten.empty_like.default(self, **options), fill_value)


def _fill(self: Array, value: Number) -> Array:
    if not dc.is_mutable(self):
        raise missing_functional("fill.Scalar", self)
    return _full_like(self, value)


def _like(self: Array, options: dict[str, Any]) -> dict[str, Any]:
    """Return dtype and device of ``options``, for those that are None the ones of ``self``."""
    dtype, device = options.get("dtype"), options.get("device")
    return {
        "dtype": dc.dtype(self) if dtype is None else dtype,
        "device": dc.device(self) if device is None else device,
    }


def _new_empty(self: Array, size: Sequence[int], **options: Any) -> Array:
    return dc.wrap_like(self, aten.empty.memory_format(size, **_like(self, options)))


def _new_empty_strided(self: Array, size: Sequence[int], stride: Sequence[int], **options: Any) -> Array:
    return dc.wrap_like(self, aten.empty_strided.default(size, stride, **_like(self, options)))


def _new_full(self: Array, size: Sequence[int], fill_value: Number, **options: Any) -> Array:
    return dc.wrap_like(self, aten.full.default(size, fill_value, **_like(self, options)))


def _new_filled(value: Number) -> Callable[..., Array]:
    def kernel(self: Array, size: Sequence[int], **options: Any) -> Array:
        return aten.new_full.default(self, size, value, dtype=options.get("dtype"), device=options.get("device"))

    return kernel


def _fill_tensor_inplace(self: Array, value: Array) -> Array:
    RULES["fill_.Tensor"](meta_of(self), meta_of(value))
    return aten.copy_.default(self, value)


def _fill_tensor(self: Array, value: Array) -> Array:
    RULES["fill.Tensor"](meta_of(self), meta_of(value))
    return copy_into(aten.empty_like.default(self), value)


def _triangle(below: bool) -> Callable[..., Array]:
    name = "tril" if below else "triu"

    def kernel(self: Array, diagonal: int = 0) -> Array:
        RULES[name](meta_of(self), diagonal)
        rows, columns = dc.shape(self)[-2:]
        device = dc.device(self)
        down = aten.unsqueeze.default(aten.arange.start_step(0, rows, 1, dtype=int64, device=device), 1)
        across = aten.arange.start_step(0, columns, 1, dtype=int64, device=device)
        away = aten.sub.Tensor(across, down)
        kept = aten.le.Scalar(away, diagonal) if below else aten.ge.Scalar(away, diagonal)
        result = aten.where.self(dc.wrap_like(self, kept), self, aten.new_zeros.default(self, ()))
        return aten.contiguous.default(result)

    return kernel
