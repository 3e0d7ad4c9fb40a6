"""The result of an element-wise operator: its shape, dtype and strides."""

from __future__ import annotations

from typing import Final

from dispatch_aten.dtypes import ScalarType, bool_
from dispatch_aten.promotion import Number, Promotion, computation_type, result_of, result_type

from .layout import broadcast_shapes, iterator_strides, preserve_format
from .meta import TensorMeta, contiguous_strides

_NUMBER: Final = TensorMeta((), (), bool_)


def elementwise(
    *operands: TensorMeta | Number, promotion: Promotion = Promotion.SAME, unpromoted: tuple[TensorMeta, ...] = ()
) -> TensorMeta:
    """Describe the result of an element-wise operator on tensors and numbers.

    ``unpromoted`` tensors come first and take part in broadcasting and layout, but not in promotion (``where``'s condition).

    >>> from dispatch_aten.dtypes import float32, int64
    >>> from dispatch_aten.shapes.meta import contiguous
    >>> elementwise(contiguous((2, 1), int64), contiguous((3,), float32))
    TensorMeta(shape=(2, 3), strides=(3, 1), dtype=torchlike.float32, storage_offset=0)
    """
    common = common_type(operands)
    first = operands[0]
    if not unpromoted and isinstance(first, TensorMeta) and _is_plain(first, operands):
        dtype = common if promotion is Promotion.SAME else result_of(promotion, common)
        return _fresh(first, dtype)
    computed = computation_type(promotion, common)
    # Operands of another dtype are converted first, which makes them dense, and that decides the result's layout.
    tensors = list(unpromoted)
    for value in operands:
        if not isinstance(value, TensorMeta):
            # A number is a tensor without dimensions to TensorIterator; its presence alone rules out the short cut
            # that keeps the strides of dimensions of size 1.
            tensors.append(_NUMBER)
        else:
            tensors.append(value if value.dtype == computed else preserve_format(value, computed))
    shape = broadcast_shapes(*[tensor.shape for tensor in tensors], argument="other" if len(tensors) == 2 else "")
    return TensorMeta(shape, iterator_strides(shape, tensors), result_of(promotion, common))


def _is_plain(first: TensorMeta, operands: tuple[TensorMeta | Number, ...]) -> bool:
    """Return whether all tensors are row-major and of one shape and the rest are numbers: nearly every call."""
    shape = first.shape
    strides = first.strides
    if strides != contiguous_strides(shape) or 0 in shape:
        return False
    for value in operands[1:]:
        if isinstance(value, TensorMeta) and (value.shape != shape or value.strides != strides):
            return False
    return True


def _fresh(meta: TensorMeta, dtype: ScalarType) -> TensorMeta:
    """Describe a fresh tensor laid out like ``meta``; the same description where it fits."""
    if meta.dtype is dtype and not meta.storage_offset:
        return meta
    return TensorMeta(meta.shape, meta.strides, dtype)


def common_type(operands: tuple[TensorMeta | Number, ...]) -> ScalarType:
    """Return ``result_type(*operands)``, without a look at categories where all have one dtype."""
    first = operands[0]
    if isinstance(first, TensorMeta):
        dtype: ScalarType = first.dtype
        for value in operands[1:]:
            if isinstance(value, TensorMeta):
                if value.dtype is not dtype:
                    break
            elif not _absorbs(dtype, value):
                break
        else:
            return dtype
    return result_type(*operands)


def _absorbs(dtype: ScalarType, number: Number) -> bool:
    """Return whether a number leaves a tensor's dtype unchanged, being of no higher kind."""
    kind = number.__class__
    if kind is float:
        return dtype.is_differentiable
    return kind is bool or (kind is int and dtype is not bool_)
