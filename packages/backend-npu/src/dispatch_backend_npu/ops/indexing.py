"""Indexing by arrays, and lists of arrays, whose arguments aclnn takes in another form.

A mask among indices represents the positions of its true elements, whose number is read from the device; writing one value
where a mask is true does not need them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, check_output_shape, contiguous, is_expanded, wrap_dim

from ..aclnn.calls import NotTakenError
from ..aclnn.checks import check_overlap, to_device
from ..aclnn.composition import compose
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray
from .copy import KERNELS as COPIES
from .reduction import KERNELS as REDUCTIONS
from .selection import find_positions
from .view import KERNELS as VIEWS

_MASKS: Final = (ScalarType.Bool, ScalarType.Byte)
_UNSIGNED: Final = (1 << 64) - 1

_index_rule: Final = cached_rule("index.Tensor")
_index_put_rule: Final = cached_rule("index_put_")


def _positions(indices: Sequence[Any]) -> list[Any]:
    """Replace the masks among indices by positions."""
    replaced: list[Any] = []
    for index in indices:
        if isinstance(index, AclArray) and index.dtype in _MASKS:
            replaced += VIEWS["unbind.int"](find_positions(index), 1)
        else:
            replaced.append(index)
    return replaced


def _to_tensor_list(indices: Sequence[AclArray | None]) -> list[AclArray]:
    """Return indices as aclnn takes them, with an empty array for a whole dimension, as in torch's own adapter."""
    last = max(dim for dim, index in enumerate(indices) if index is not None)
    return [
        allocate_result(contiguous((0,), ScalarType.Long)) if index is None else index for index in indices[: last + 1]
    ]


def _index(self: AclArray, indices: Sequence[Any]) -> AclArray:
    indices = [to_device(index) for index in indices]
    if any(index is not None and index.dtype in _MASKS for index in indices):
        _check_masks(self, indices)
        indices = _positions(indices)
    if not any(index is not None for index in indices):
        return COPIES["clone"](self) if indices else _index_rule(self, indices)
    array = allocate_result(_index_rule(self, indices))
    if array.spec.numel:
        launch("aclnnIndex", self, _to_tensor_list(indices), array)
    return array


def _check_masks(self: AclArray, indices: Sequence[Any]) -> None:
    """Check masks by the rule of ``index_put_``; that of ``index`` cannot answer without their elements."""
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
        _index_put_rule(self, indices, value, accumulate)
        mask = given[0]
        rest = len(self.spec.shape) - len(mask.spec.shape) - indices.index(mask)
        mask = VIEWS["view"](mask, (*mask.spec.shape, *([1] * rest)))
        if self.spec.numel:
            launch("aclnnInplaceMaskedFillTensor", self, _as_bool(mask), value)
        return self
    if any(index.dtype in _MASKS for index in given):
        _index_put_rule(self, indices, values, accumulate)
        indices = _positions(indices)
    _index_put_rule(self, indices, values, accumulate)
    if _index_rule(self, indices).numel:
        launch("aclnnIndexPutImpl", self, _to_tensor_list(indices), values, accumulate, False)
    return self


def _as_bool(mask: AclArray) -> AclArray:
    return mask if mask.dtype is ScalarType.Bool else COPIES["_to_copy"](mask, dtype=ScalarType.Bool)


def _check_put(self: AclArray, indices: Sequence[Any], values: AclArray) -> None:
    for each in (values, *indices):
        if each is not None and each.block is self.block and each is not self:
            check_overlap(self, each)


def _make_index_fill(name: str) -> Callable[..., AclArray]:
    """Make the kernel that writes a number, or an array of one element, to the entries that indices name."""
    rule = cached_rule(name)

    def kernel(self: AclArray, dim: int, index: AclArray, value: Any) -> AclArray:
        index, value = map(to_device, (index, value))
        spec = self.spec
        if not spec.shape or is_expanded(spec) or index.dtype in _MASKS:
            found: AclArray = compose(name, self, dim, index, value)
            return found
        rule(self, dim, index, value)
        if not isinstance(value, AclArray):
            value = _fill(spec.dtype, value)
        elif value.dtype is not spec.dtype:
            value = COPIES["_to_copy"](value, dtype=spec.dtype)
        places = [None] * wrap_dim(dim, len(spec.shape))
        return _index_put(self, [*places, index if index.spec.shape else VIEWS["view"](index, (1,))], value)

    return kernel


def _fill(dtype: ScalarType, value: Any) -> AclArray:
    number = allocate_result(contiguous((), dtype))
    launch("aclnnInplaceFillScalar", number, value)
    return number


#: Operator → the function that fills.
_FILLS: Final = {
    "masked_fill.Scalar": "aclnnInplaceMaskedFillScalar",
    "masked_fill.Tensor": "aclnnInplaceMaskedFillTensor",
}


def _make_masked_fill(name: str) -> Callable[..., AclArray]:
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


def _make_masked_fill_(name: str) -> Callable[..., AclArray]:
    """Make the kernel of ``masked_fill_``; in an expanded array, an element is filled if any of its masks is true."""
    rule, function = cached_rule(name), _FILLS[name]

    def kernel(self: AclArray, mask: AclArray, value: Any) -> AclArray:
        mask, value = to_device(mask), to_device(value)
        spec = self.spec
        check_output_shape(rule(self, mask, value).shape, spec.shape)
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
            try:
                launch(function, written, mask, value)
            except NotTakenError:
                compose(name.replace(".", "_.", 1), written, mask, value)
        return self

    return kernel


_embedding_rule: Final = cached_rule("embedding_dense_backward")


def _embedding_backward(
    grad_output: AclArray, indices: AclArray, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> AclArray:
    array = allocate_result(_embedding_rule(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq))
    # Without padding, its row is the largest number of C's type.
    padding = padding_idx & _UNSIGNED
    launch("aclnnEmbeddingDenseBackward", grad_output, indices, num_weights, padding, scale_grad_by_freq, array)
    return array


_cat_rule: Final = cached_rule("cat")


def _cat(tensors: Sequence[AclArray], dim: int = 0) -> AclArray:
    tensors = [to_device(each) for each in tensors]
    array = allocate_result(_cat_rule(tensors, dim))
    # Torch ignores one-dimensional arrays without elements.
    parts = [each for each in tensors if each.spec.shape != (0,)]
    if parts and array.spec.numel:
        launch("aclnnCat", parts, dim, array)
    return array


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "index.Tensor": _index,
    "index_put_": _index_put,
    "masked_fill.Scalar": _make_masked_fill("masked_fill.Scalar"),
    "masked_fill.Tensor": _make_masked_fill("masked_fill.Tensor"),
    "masked_fill_.Scalar": _make_masked_fill_("masked_fill.Scalar"),
    "masked_fill_.Tensor": _make_masked_fill_("masked_fill.Tensor"),
    "index_fill_.int_Scalar": _make_index_fill("index_fill_.int_Scalar"),
    "index_fill_.int_Tensor": _make_index_fill("index_fill_.int_Tensor"),
    "embedding_dense_backward": _embedding_backward,
    "cat": _cat,
}
