"""Indexing by arrays, and lists of arrays, whose arguments aclnn takes in another form.

A mask among indices stands for the positions of its true elements. Their number is known on the device alone, so the
positions are found on the host, see ``fallback``; writing one value where a mask is true needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import HasSpec, cached_rule, check_output_shape, contiguous, is_expanded

from ..aclnn.checks import check_overlap, to_device
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray
from ..fallback import on_host
from .copy import KERNELS as COPIES
from .reduction import KERNELS as REDUCTIONS
from .view import KERNELS as VIEWS

__all__ = ["KERNELS"]

_MASKS: Final = (ScalarType.Bool, ScalarType.Byte)
_UNSIGNED: Final = (1 << 64) - 1

_indexed: Final = cached_rule("index.Tensor")
_put: Final = cached_rule("index_put_")


def _positions(indices: Sequence[Any]) -> list[Any]:
    """Give indices with positions in the place of masks."""
    found: list[Any] = []
    for index in indices:
        if isinstance(index, HasSpec) and index.dtype in _MASKS:
            places = on_host("nonzero", index)
            found += VIEWS["unbind.int"](places, 1)
        else:
            found.append(index)
    return found


def _listed(indices: Sequence[AclArray | None]) -> list[AclArray]:
    """Give indices as aclnn takes them: an empty array stands for all of a dimension, as in torch's own adapter."""
    last = max(place for place, index in enumerate(indices) if index is not None)
    return [
        allocate_result(contiguous((0,), ScalarType.Long)) if index is None else index for index in indices[: last + 1]
    ]


def _index(self: AclArray, indices: Sequence[Any]) -> AclArray:
    indices = [to_device(index) for index in indices]
    if any(index is not None and index.dtype in _MASKS for index in indices):
        _checked(self, indices)
        indices = _positions(indices)
    if not any(index is not None for index in indices):
        return COPIES["clone"](self) if indices else _indexed(self, indices)
    array = allocate_result(_indexed(self, indices))
    if array.spec.numel:
        launch("aclnnIndex", self, _listed(indices), array)
    return array


def _checked(self: AclArray, indices: Sequence[Any]) -> None:
    """Have the rule check masks, whose answer it cannot give without their elements."""
    cached_rule("index_put_")(self, indices, allocate_result(contiguous((), self.dtype)))


def _index_put(self: AclArray, indices: Sequence[Any], values: AclArray, accumulate: bool = False) -> AclArray:
    indices = [to_device(index) for index in indices]
    values = to_device(values)
    _check_put(self, indices, values)
    given = [index for index in indices if index is not None]
    is_one_mask = len(given) == 1 and given[0].dtype in _MASKS
    if is_one_mask and not accumulate and values.spec.numel == 1 and not is_expanded(self.spec):
        # Torch calls masked_fill_ here, which converts its value.
        value = VIEWS["view"](
            COPIES["_to_copy"](values, dtype=self.dtype) if values.dtype is not self.dtype else values, ()
        )
        _put(self, indices, value, accumulate)
        mask = given[0]
        rest = len(self.spec.shape) - len(mask.spec.shape) - indices.index(mask)
        mask = VIEWS["view"](mask, (*mask.spec.shape, *([1] * rest)))
        if self.spec.numel:
            launch("aclnnInplaceMaskedFillTensor", self, _as_bool(mask), value)
        return self
    if any(index.dtype in _MASKS for index in given):
        _put(self, indices, values, accumulate)
        indices = _positions(indices)
    _put(self, indices, values, accumulate)
    if _indexed(self, indices).numel:
        launch("aclnnIndexPutImpl", self, _listed(indices), values, accumulate, False)
    return self


def _as_bool(mask: AclArray) -> AclArray:
    return mask if mask.dtype is ScalarType.Bool else COPIES["_to_copy"](mask, dtype=ScalarType.Bool)


def _check_put(self: AclArray, indices: Sequence[Any], values: AclArray) -> None:
    for each in (values, *indices):
        if each is not None and each.block is self.block and each is not self:
            check_overlap(self, each)


#: Which function fills, by the operator.
_FILLS: Final = {
    "masked_fill.Scalar": "aclnnInplaceMaskedFillScalar",
    "masked_fill.Tensor": "aclnnInplaceMaskedFillTensor",
}


def _masked_fill(name: str) -> Callable[..., AclArray]:
    """Make the kernel of ``masked_fill``: a copy, broadcast with the mask, that is filled."""
    rule, function = cached_rule(name), _FILLS[name]

    def kernel(self: AclArray, mask: AclArray, value: Any) -> AclArray:
        value = to_device(value)
        array = allocate_result(rule(self, mask, value))
        if array.spec.numel:
            launch("aclnnInplaceCopy", array, self)
            launch(function, array, mask, value)
        return array

    return kernel


def _masked_fill_inplace(name: str) -> Callable[..., AclArray]:
    """Make the kernel of ``masked_fill_``, which may write to expanded arrays: a place is filled if any mask says so."""
    rule, function = cached_rule(name), _FILLS[name]

    def kernel(self: AclArray, mask: AclArray, value: Any) -> AclArray:
        mask, value = to_device(mask), to_device(value)
        found, spec = rule(self, mask, value), self.spec
        check_output_shape(found.shape, spec.shape)
        for each in (mask, value):
            if isinstance(each, AclArray) and each.block is self.block:
                check_overlap(self, each)
        written = self
        if is_expanded(spec):
            shared = [dim for dim, stride in enumerate(spec.strides) if not stride]
            mask = REDUCTIONS["any.dims"](VIEWS["expand"](mask, spec.shape), shared, True)
            shape = tuple([1 if dim in shared else size for dim, size in enumerate(spec.shape)])
            written = self.view(shape, spec.strides, self.storage_offset)
        if spec.numel:
            launch(function, written, mask, value)
        return self

    return kernel


_embedding_rule: Final = cached_rule("embedding_dense_backward")


def _embedding_backward(
    grad_output: AclArray, indices: AclArray, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> AclArray:
    array = allocate_result(_embedding_rule(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq))
    # No row is the padding where there is none: the largest number of C's type.
    place = padding_idx & _UNSIGNED
    launch("aclnnEmbeddingDenseBackward", grad_output, indices, num_weights, place, scale_grad_by_freq, array)
    return array


_joined: Final = cached_rule("cat")


def _cat(tensors: Sequence[AclArray], dim: int = 0) -> AclArray:
    tensors = [to_device(each) for each in tensors]
    array = allocate_result(_joined(tensors, dim))
    # Torch lets one-dimensional arrays without elements stand among any others.
    parts = [each for each in tensors if each.spec.shape != (0,)]
    if parts and array.spec.numel:
        launch("aclnnCat", parts, dim, array)
    return array


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "index.Tensor": _index,
    "index_put_": _index_put,
    "masked_fill.Scalar": _masked_fill("masked_fill.Scalar"),
    "masked_fill.Tensor": _masked_fill("masked_fill.Tensor"),
    "masked_fill_.Scalar": _masked_fill_inplace("masked_fill.Scalar"),
    "masked_fill_.Tensor": _masked_fill_inplace("masked_fill.Tensor"),
    "embedding_dense_backward": _embedding_backward,
    "cat": _cat,
}
