"""Shape rules of indexing, gathering and scattering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import bool_, int32, int64, uint8
from dispatch_aten.errors import DataDependentShapeError, DimensionError, DtypeError, OperatorError, ShapeError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.layout import broadcast_shapes, broadcast_strides, iterator_strides, preserve_format
from dispatch_aten.shapes.meta import TensorMeta, contiguous, contiguous_strides
from dispatch_aten.shapes.own_rules import OWN_RULES
from dispatch_aten.shapes.refusals import check_fits
from dispatch_aten.shapes.sizes import view_strides

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_INDEX_TYPES: Final = (int32, int64)
_MASK_TYPES: Final = (bool_, uint8)


def _check_indices(self: TensorMeta, indices: Sequence[TensorMeta | None]) -> None:
    """Check index tensors as far as their values do not matter."""
    if not any(index is not None for index in indices):
        raise DimensionError("index(): at least one of the indices must be a tensor", argument="indices")
    place = 0
    for number, index in enumerate(indices):
        if index is None:
            place += 1
            continue
        if index.dtype not in (*_INDEX_TYPES, *_MASK_TYPES):
            raise DimensionError("tensors used as indices must be long, int, byte or bool tensors", argument="indices")
        if index.dtype in _INDEX_TYPES:
            place += 1
            continue
        for dim, size in enumerate(index.shape):
            if place + dim >= self.ndim or self.shape[place + dim] != size:
                raise DimensionError(
                    f"The shape of the mask {list(index.shape)} at index {dim} does not match the shape of the indexed "
                    f"tensor {list(self.shape)} at index {place + dim}",
                    argument=f"indices[{number}]",
                )
        place += index.ndim
    if place > self.ndim:
        raise DimensionError(f"too many indices for tensor of dimension {self.ndim} (got {place})", argument="indices")


def _index(self: TensorMeta, indices: Sequence[TensorMeta | None]) -> TensorMeta:
    _check_indices(self, indices)
    if any(index is not None and index.dtype in _MASK_TYPES for index in indices):
        raise DataDependentShapeError("the number of elements that a mask selects is in its values", argument="indices")
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    tensors = [index for index in indices if index is not None]
    try:
        picked = broadcast_shapes(*[index.shape for index in tensors])
    except ShapeError:
        shapes = ", ".join(str(list(index.shape)) for index in tensors)
        raise DimensionError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}",
            argument="indices",
        ) from None
    rest = [dim for dim in range(self.ndim) if dim not in dims]
    adjacent = dims == list(range(dims[0], dims[-1] + 1))
    before = [dim for dim in rest if dim < dims[0]] if adjacent else []
    after = [dim for dim in rest if dim not in before]
    _check_empty(self, dims, picked)
    shape = (*(self.shape[dim] for dim in before), *picked, *(self.shape[dim] for dim in after))
    source = (*(self.strides[dim] for dim in before), *(0 for _ in picked), *(self.strides[dim] for dim in after))
    inputs = [TensorMeta(shape, source, self.dtype)]
    for index in tensors:
        spread = (*(1 for _ in before), *picked, *(1 for _ in after))
        strides = view_strides(picked, broadcast_strides(index, picked), spread)
        inputs.append(TensorMeta(spread, strides or contiguous_strides(spread), index.dtype))
    return TensorMeta(shape, iterator_strides(shape, inputs), self.dtype)


def _check_empty(self: TensorMeta, dims: Sequence[int], picked: tuple[int, ...]) -> None:
    if 0 in picked:
        return
    for dim in dims:
        if self.shape[dim] == 0:
            raise DimensionError("index is out of bounds for dimension with size 0", argument="indices")


def _index_put(
    self: TensorMeta, indices: Sequence[TensorMeta | None], values: TensorMeta, accumulate: bool = False
) -> TensorMeta:
    if all(index is None for index in indices):
        raise OperatorError("index_put_(): at least one of the indices must be a tensor", argument="indices")
    try:
        result = _index(self, indices)
    except DataDependentShapeError:
        if accumulate or values.numel != 1 or sum(index is not None for index in indices) != 1:
            _check_put_dtype(self, values)
        elif any(index is not None and index.dtype == uint8 for index in indices):
            raise OperatorError(
                "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char", argument="indices"
            ) from None
        # Else torch calls masked_fill_, which converts its value.
        return preserve_format(self)
    target = result.shape
    fits = len(values.shape) <= len(target) and all(
        have in (1, want) for have, want in zip(reversed(values.shape), reversed(target), strict=False)
    )
    if not fits:
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
            f"shape {list(target)}",
            argument="values",
        )
    _check_put_dtype(self, values)
    return preserve_format(self)


def _check_put_dtype(self: TensorMeta, values: TensorMeta) -> None:
    if values.dtype != self.dtype:
        raise DtypeError(
            "Index put requires the source and destination dtypes match, "
            f"got {self.dtype.name} for the destination and {values.dtype.name} for the source.",
            argument="values",
        )


def _index_select(self: TensorMeta, dim: int, index: TensorMeta) -> TensorMeta:
    if index.ndim > 1:
        raise DimensionError("index_select(): Index is supposed to be a vector", argument="index")
    if index.dtype not in _INDEX_TYPES:
        raise DtypeError("index_select(): Expected dtype int32 or int64 for index", argument="index")
    dim = wrap_dim(dim, self.ndim)
    if not self.shape:
        if index.numel != 1:
            raise OperatorError(
                f"index_select(): Index to scalar can have only 1 value, got {index.numel} value(s)", argument="index"
            )
        return contiguous((), self.dtype)
    return contiguous((*self.shape[:dim], index.numel, *self.shape[dim + 1 :]), self.dtype)


def _index_add(self: TensorMeta, dim: int, index: TensorMeta, source: TensorMeta, *, alpha: Any = 1) -> TensorMeta:
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise DimensionError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {index.dtype.name} "
            f"and size: {list(index.shape)}",
            argument="index",
        )
    if index.dtype not in _INDEX_TYPES:
        raise DtypeError(
            "index_add_(): Expected dtype int32/int64 for index but got: " + index.dtype.name, argument="index"
        )
    if source.dtype != self.dtype:
        raise DtypeError(
            "index_add_(): self and source expected to have the same dtype, but got (self) "
            f"{self.dtype.name} and (source) {source.dtype.name}",
            argument="source",
        )
    if dim and dim >= source.ndim:
        raise OperatorError(
            f"index_add_(): Indexing dim {dim} is out of bounds of the source tensor with dim {source.ndim}",
            argument="source",
        )
    count = source.shape[dim] if source.shape else 1
    if index.numel != count:
        raise OperatorError(
            f"index_add_(): Number of indices ({index.numel}) should be equal to source.size(dim): ({count}), "
            f"for dim: {dim}",
            argument="index",
        )
    if self.shape[:dim] + self.shape[dim + 1 :] != source.shape[:dim] + source.shape[dim + 1 :]:
        raise ShapeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}",
            argument="source",
        )
    return contiguous(self.shape, self.dtype)


def _check_index_dtype(name: str, index: TensorMeta) -> None:
    if index.numel and index.dtype not in _INDEX_TYPES:
        raise DtypeError(f"{name}(): Expected dtype int32/int64 for index", argument="index")


def _gather(self: TensorMeta, dim: int, index: TensorMeta, *, sparse_grad: bool = False) -> TensorMeta:
    dim = wrap_dim(dim, self.ndim)
    _check_index_dtype("gather", index)
    if index.numel:
        if max(index.ndim, 1) != max(self.ndim, 1):
            raise ShapeError("Index tensor must have the same number of dimensions as input tensor", argument="index")
        for each, (wanted, have) in enumerate(zip(index.shape, self.shape, strict=False)):
            if each != dim and wanted > have:
                raise ShapeError(
                    f"Size does not match at dimension {each} expected index {list(index.shape)} to be no larger than "
                    f"self {list(self.shape)} apart from dimension {dim}",
                    argument="index",
                )
    return contiguous(index.shape, self.dtype)


def check_scatter(self: TensorMeta, dim: int, index: TensorMeta, src: TensorMeta | None) -> None:
    """Refuse indices, and sources, that do not fit into ``self``."""
    dim = wrap_dim(dim, self.ndim)
    _check_index_dtype("scatter", index)
    if src is not None and src.dtype != self.dtype:
        raise DtypeError("scatter(): Expected self.dtype to be equal to src.dtype", argument="src")
    if not index.numel:
        return
    if max(index.ndim, 1) != max(self.ndim, 1):
        raise ShapeError("Index tensor must have the same number of dimensions as self tensor", argument="index")
    if src is not None and max(index.ndim, 1) != max(src.ndim, 1):
        raise ShapeError("Index tensor must have the same number of dimensions as src tensor", argument="index")
    wrong = any(
        each != dim and wanted > have for each, (wanted, have) in enumerate(zip(index.shape, self.shape, strict=False))
    )
    if src is not None:
        wrong = wrong or any(wanted > have for wanted, have in zip(index.shape, src.shape, strict=False))
    if wrong:
        and_source = f" and to be no larger size than src {list(src.shape)}" if src is not None else ""
        raise ShapeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension "
            f"{dim}{and_source}",
            argument="index",
        )


def _scatter(self: TensorMeta, dim: int, index: TensorMeta, src: TensorMeta | Number) -> TensorMeta:
    check_scatter(self, dim, index, src if isinstance(src, TensorMeta) else None)
    if not isinstance(src, TensorMeta) and index.numel:
        check_fits(src, self.dtype, "value")
    return contiguous(self.shape, self.dtype)


def _masked_select(self: TensorMeta, mask: TensorMeta) -> TensorMeta:
    if mask.dtype not in _MASK_TYPES:
        raise DtypeError("masked_select: expected BoolTensor for mask", argument="mask")
    broadcast_shapes(self.shape, mask.shape, argument="mask")
    raise DataDependentShapeError("the number of elements that a mask selects is in its values", argument="mask")


def _masked_scatter(self: TensorMeta, mask: TensorMeta, source: TensorMeta) -> TensorMeta:
    if source.dtype != self.dtype:
        raise DtypeError(
            f"masked_scatter_: expected self and source to have same dtypes but got {self.dtype.name} and "
            f"{source.dtype.name}",
            argument="source",
        )
    if mask.dtype != bool_:
        raise DtypeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype " + mask.dtype.short, argument="mask"
        )
    return contiguous(broadcast_shapes(self.shape, mask.shape, argument="mask"), self.dtype)


def _nonzero(self: TensorMeta) -> TensorMeta:
    raise DataDependentShapeError("the number of elements that are not zero is in the values", argument="self")


def _take(self: TensorMeta, index: TensorMeta) -> TensorMeta:
    if index.dtype != int64:
        raise DtypeError(f"take(): Expected a long tensor for index, but got {index.dtype.name}", argument="index")
    if index.numel and not self.numel:
        raise DimensionError("take(): tried to take from an empty tensor", argument="self")
    return contiguous(index.shape, self.dtype)


def _scatter_into_view(view: str) -> Callable[..., TensorMeta]:
    """Make the rule of an operator that writes ``src`` into a view of a copy of ``self``."""

    def rule(self: TensorMeta, src: TensorMeta, *args: Any, **kwargs: Any) -> TensorMeta:
        part = OWN_RULES[view](self, *args, **kwargs)
        if part.shape != src.shape:
            raise ShapeError(
                f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
                f"slice size = {list(part.shape)}",
                argument="src",
            )
        return preserve_format(self)

    return rule


def _embedding(
    weight: TensorMeta,
    indices: TensorMeta,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> TensorMeta:
    if weight.ndim != 2:
        raise ShapeError("'weight' must be 2-D", argument="weight")
    _check_embedding_indices("embedding", indices)
    return contiguous((*indices.shape, weight.shape[1]), weight.dtype)


def _check_embedding_indices(name: str, indices: TensorMeta) -> None:
    if indices.dtype not in _INDEX_TYPES:
        raise DtypeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{indices.dtype.name}Tensor instead (while checking arguments for {name})",
            argument="indices",
        )


def _embedding_backward(
    grad_output: TensorMeta, indices: TensorMeta, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> TensorMeta:
    _check_embedding_indices("embedding_backward", indices)
    return contiguous((num_weights, grad_output.shape[-1]), grad_output.dtype)


def _one_hot(self: TensorMeta, num_classes: int = -1) -> TensorMeta:
    if self.dtype != int64:
        raise DtypeError("one_hot is only applicable to index tensor of type LongTensor.", argument="self")
    if num_classes < 0:
        raise DataDependentShapeError("the number of classes is in the values", argument="num_classes")
    return contiguous((*self.shape, num_classes), int64)
