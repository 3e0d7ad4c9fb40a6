"""Nested tensors of lists, of strided tensors, and of their components.

Note [Layout by default]
    Without a layout torch makes nested tensors of layout strided, its older one. Here there are jagged ones only, so a call
    without a layout gives such a tensor where the rows allow it, and is refused by name where they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import dispatch_core as dc
from dispatch_core.tracebacks import api_boundary

from ..creation.factories import FACTORIES, as_tensor
from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import no_grad
from ..names.spelling import spell
from ..tensors.tensor import Tensor
from ..values.argument_types import DeviceLike
from ..values.dtypes import dtype as DType  # noqa: N812  # torch's name is that of an argument
from ..values.layouts import jagged, layout, layout_of, strided
from .tensor import NestedTensor, nest


def _check_layout(wanted: layout | None, name: str) -> None:
    """Refuse every layout but jagged, which a call without a layout has as well; see Note [Layout by default]."""
    if wanted is strided:
        raise NotImplementedError(
            f"{name}: nested tensors of layout {strided} are not supported, there is {jagged}\nHint: pass layout={jagged},"
            " or no layout"
        )
    if wanted is not None and wanted is not jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {wanted}")


def _refuse_rows(wanted: layout | None, name: str, found: str, words: str) -> NoReturn:
    """Refuse rows that only a strided nested tensor holds: in torch's words where the call asks for jagged ones."""
    if wanted is jagged:
        raise RuntimeError(words)
    raise NotImplementedError(
        f"{name}: {found}, and there are nested tensors of layout {jagged} only, whose rows differ in the size of one"
        f" dimension; torch makes one of layout {strided} here\nHint: pad the rows, or keep them in a list"
    )


@api_boundary
def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a nested tensor without history, of copies of tensors or of data (source: ``torch.nested.nested_tensor``).

    The tensors have as many dimensions each, and differ in the size of at most one. Without a layout the result is jagged,
    too, where torch's is strided. Raises ``NotImplementedError`` for ``layout=torchlike.strided``, and without a layout for
    rows that only such a tensor holds, ``RuntimeError`` for tensors that no nested tensor can have.

    >>> import torchlike
    >>> x = nested_tensor([torchlike.ones(2, 3), torchlike.zeros(4, 3)])
    >>> x.layout, x.dim(), [row.shape for row in x.unbind()]
    (torchlike.jagged, 3, [torchlike.Size([2, 3]), torchlike.Size([4, 3])])
    """
    _check_layout(layout, "nested_tensor()")
    if pin_memory:
        raise NotImplementedError("nested_tensor(): pin_memory=True is not supported")
    tensors = [each if isinstance(each, Tensor) else as_tensor(each) for each in tensor_list]
    with no_grad():
        made = _from_list(tensors, dtype, device, layout, "nested_tensor()")
    return made._require_grad() if requires_grad else made


@api_boundary
def as_nested_tensor(
    ts: Tensor | Sequence[Tensor],
    dtype: DType | None = None,
    device: DeviceLike = None,
    layout: layout | None = None,
) -> Tensor:
    """Return a nested tensor with the history of a tensor, or of several (source: ``torch.nested.as_nested_tensor``).

    The rows of a strided tensor become rows of equal length, in its memory where it is contiguous. Raises ``TypeError``
    for anything but tensors, and as `nested_tensor` does.

    >>> import torchlike
    >>> a, b = torchlike.ones(2, requires_grad=True), torchlike.ones(3, requires_grad=True)
    >>> as_nested_tensor([a, b]).sum().backward()
    >>> b.grad
    tensor([1., 1., 1.])
    """
    if isinstance(ts, NestedTensor):
        if layout not in (None, jagged):
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        moved: Tensor = ts.to(device=device, dtype=dtype)
        return moved
    if isinstance(ts, Tensor):
        if ts.dim() < 2:
            raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
        _check_layout(layout, "as_nested_tensor()")
        batch, length = dc.shape(ts)[:2]
        values = ts.contiguous().flatten(0, 1).to(device=device, dtype=dtype)
        offsets = FACTORIES["arange"](batch + 1, device=values.device) * length
        return nest(values, offsets, shortest=length, longest=length)
    if not isinstance(ts, (list, tuple)) or not all(isinstance(each, Tensor) for each in ts):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    _check_layout(layout, "as_nested_tensor()")
    return _from_list(list(ts), dtype, device, layout, "as_nested_tensor()")


def _from_list(
    tensors: list[Tensor], dtype: DType | None, device: DeviceLike, wanted: layout | None, name: str
) -> Tensor:
    ragged = _find_ragged(tensors, wanted, name)
    values = FUNCTIONS["cat"](tensors, ragged - 1).to(device=device, dtype=dtype)
    lengths = [dc.shape(each)[ragged - 1] for each in tensors]
    ends = [0]
    for length in lengths:
        ends.append(ends[-1] + length)
    offsets = as_tensor(ends, device=values.device)
    return nest(values, offsets, None, ragged, min(lengths), max(lengths))


def _find_ragged(tensors: list[Tensor], wanted: layout | None, name: str) -> int:
    """Return the dimension in which tensors differ, the batch's included; the first where they are all equal."""
    if not tensors:
        _refuse_rows(wanted, name, "there are no rows", "Cannot construct a nested tensor from an empty tensor list")
    if any(isinstance(each, NestedTensor) for each in tensors):
        raise RuntimeError("Cannot construct a nested tensor from nested tensors")
    for what, read in (("dtype", dc.dtype), ("device", lambda each: each.device), ("dim", lambda each: each.dim())):
        if any(read(each) != read(tensors[0]) for each in tensors):
            where = "be on the same device" if what == "device" else f"have the same {what}"
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must {where}")
    if not tensors[0].dim():
        words = "Cannot construct a nested tensor from a list of zero-dim tensors"
        _refuse_rows(wanted, name, "the rows have no dimensions", words)
    sizes = [dc.shape(each) for each in tensors]
    found = [dim for dim, size in enumerate(sizes[0]) if any(each[dim] != size for each in sizes)]
    if len(found) > 1:
        words = (
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout only"
            " allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
        _refuse_rows(wanted, name, f"the rows differ in the size of dimensions {found}", words)
    return found[0] + 1 if found else 1


@api_boundary
def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """Return a nested tensor in the memory of its components (source: ``torch.nested.nested_tensor_from_jagged``).

    ``offsets`` has the beginning of each row in the packed dimension, and the end of the last; ``lengths`` those of the
    rows, with gaps between them where both are given. Raises ``RuntimeError`` where both are left out or do not fit.

    >>> import torchlike
    >>> x = nested_tensor_from_jagged(torchlike.arange(5.), torchlike.tensor([0, 2, 5]))
    >>> list(x)
    [tensor([0., 1.]), tensor([2., 3., 4.])]
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = _begin_at_zero(lengths.cumsum(0)), None
    if jagged_dim is not None and jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    ragged = 1 if jagged_dim is None else jagged_dim
    _check_components(values, offsets, lengths, ragged)
    if values.requires_grad and values.is_leaf:
        values = values.view_as(values)  # as a view of it, the nested tensor is not a leaf
    return nest(values, offsets, lengths, ragged, min_seqlen, max_seqlen)


def _check_components(values: Tensor, offsets: Tensor, lengths: Tensor | None, ragged: int) -> None:
    name = "nested_tensor_from_jagged()"
    for tensor, what in ((values, "values"), (offsets, "offsets"), (lengths, "lengths")):
        if tensor is not None and (not isinstance(tensor, Tensor) or layout_of(tensor) is not strided):
            raise TypeError(f"{name}: {what} must be a strided tensor, not {type(tensor).__name__}")
    for found, what in ((offsets, "offsets"), (lengths, "lengths")):
        if found is None:
            continue
        if found.dim() != 1 or not found.dtype.is_integral:
            raise RuntimeError(
                f"{name}: {what} must be a vector of integers, not {found.dtype} of {found.dim()} dimensions"
            )
        if found.device != values.device:
            raise RuntimeError(f"{name}: values lie on {values.device} and {what} on {found.device}")
    if not dc.shape(offsets)[0]:
        raise RuntimeError(f"{name}: offsets must have an element more than there are rows")
    if lengths is not None and dc.shape(lengths)[0] != dc.shape(offsets)[0] - 1:
        raise RuntimeError(
            f"{name}: offsets and lengths batch sizes must match, and are {dc.shape(offsets)[0] - 1} and"
            f" {dc.shape(lengths)[0]}"
        )
    if values.dim() < ragged:
        raise RuntimeError(f"{name}: jagged_dim={ragged} is not a dimension of rows of {values.dim()} dimensions")


def _begin_at_zero(ends: Tensor) -> Tensor:
    return FUNCTIONS["cat"]([ends.new_zeros(1), ends])


@api_boundary
def narrow(tensor: Tensor, dim: int, start: int | Tensor, length: int | Tensor, layout: layout | None = None) -> Tensor:
    """Return a part of each row of a strided tensor, in its memory (source: ``torch.nested.narrow``).

    ``start`` and ``length`` are numbers, or have one for each row. Only ``dim=1`` and the layout ``torchlike.jagged`` are
    supported, which the result has without a layout, too.

    >>> import torchlike
    >>> x = narrow(torchlike.arange(6.).reshape(2, 3), 1, 0, torchlike.tensor([1, 3]))
    >>> list(x)
    [tensor([0.]), tensor([3., 4., 5.])]
    """
    if not isinstance(start, (int, Tensor)):
        raise RuntimeError("start must be an integer or a tensor")
    if not isinstance(length, (int, Tensor)):
        raise RuntimeError("length must be an integer or a tensor")
    _check_layout(layout, "nested.narrow()")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    if tensor.dim() < 2:
        raise RuntimeError("nested.narrow(): the tensor must have at least two dimensions")
    batch, width = dc.shape(tensor)[:2]
    starts, lengths = (_one_each(each, batch, tensor) for each in (start, length))
    begins = starts + FACTORIES["arange"](batch, device=tensor.device) * width
    offsets = FUNCTIONS["cat"]([begins, begins[-1:] + lengths[-1:]])
    return nest(tensor.view(-1, *dc.shape(tensor)[2:]), offsets, lengths)


def _one_each(value: int | Tensor, batch: int, like: Tensor) -> Tensor:
    given = value if isinstance(value, Tensor) else as_tensor([value], device=like.device)
    if given.dim() > 1 or given.numel() not in (1, batch):
        raise RuntimeError(
            "When constructing a jagged nested tensor using narrow(), your start and length must be Tensors that broadcast"
            " to input.shape[0]"
        )
    return given.expand(batch)


@api_boundary
def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where a mask is true, a row for each of the tensor's (source: ``torch.nested.masked_select``).

    >>> import torchlike
    >>> mask = torchlike.tensor([[True, False], [True, True]])
    >>> [row.tolist() for row in masked_select(torchlike.arange(4).reshape(2, 2), mask)]
    [[0], [2, 3]]
    """
    for each, what in ((tensor, "tensor"), (mask, "mask")):
        if layout_of(each) is not strided:
            raise RuntimeError(f"{spell()}.nested.masked_select requires a strided {what}, given: {layout_of(each)}")
    counts = mask.expand(dc.shape(tensor)).sum(tensor.dim() - 1).reshape(-1)
    return nest(tensor.masked_select(mask), _begin_at_zero(counts.cumsum(0)))
