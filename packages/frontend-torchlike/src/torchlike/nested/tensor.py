"""The tensor class of the jagged layout, and the record that it holds.

Note [Jagged tensors]
    The rows of a nested tensor lie one after another in the dimension ``ragged - 1`` of ``values``; ``offsets`` says where
    each begins, and the last where they end. With ``lengths`` there may be gaps between them. An operator on a nested
    tensor is operators on the values, so these have the history: a nested tensor requires grad where its values do, its
    ``grad`` is nested around theirs, and backward never sees a nested tensor. ``shortest`` and ``longest`` are the
    extremes of the rows' lengths, where they are known without reading values.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.frontends import TensorLayout
from dispatch_core.keys import AUTOCAST, DispatchKey

from ..methods.conversions import cpu, to
from ..tensors.tensor import Tensor, frontend
from ..values.layouts import LayoutData, jagged, layout, values_of
from .history import HistoryOfValues
from .ragged_sizes import ragged_size, share_ragged_size


@dataclass(slots=True)
class Jagged(LayoutData):
    """The data of a nested tensor; see Note [Jagged tensors]."""

    values: Tensor
    offsets: Tensor
    lengths: Tensor | None
    #: The ragged dimension, in which the batch's is counted.
    ragged: int
    shortest: int | None = None
    longest: int | None = None

    layout: ClassVar[layout] = jagged
    densified_by: ClassVar[str] = "to_padded_tensor(0.)"

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the batch's size and those of the rows, one of which is ragged."""
        sizes = list(dc.shape(self.values))
        sizes[self.ragged - 1] = ragged_size(self.offsets if self.lengths is None else self.lengths)
        return (dc.shape(self.offsets)[0] - 1, *sizes)

    @property
    def strides(self) -> tuple[int, ...]:
        """Return the steps of the values, and before them the ragged size times that of its dimension."""
        steps = dc.strides(self.values)
        return (self.shape[self.ragged] * steps[self.ragged - 1], *steps)

    def row_lengths(self) -> Tensor:
        """Return the lengths of the rows."""
        offsets = self.offsets
        return offsets[1:] - offsets[:-1] if self.lengths is None else self.lengths

    def find_longest(self) -> int:
        """Return the length of the longest row, which is read from the values of the offsets where it is not known."""
        found = self.longest
        if found is None:
            found = int(self.row_lengths().max().item()) if dc.shape(self.offsets)[0] > 1 else 0
            if frontends.recording() is None:
                self.longest = found
        return found

    def find_shortest(self) -> int:
        """Return the length of the shortest row, as `find_longest` does."""
        found = self.shortest
        if found is None:
            found = int(self.row_lengths().min().item()) if dc.shape(self.offsets)[0] > 1 else 0
            if frontends.recording() is None:
                self.shortest = found
        return found

    def map_values(self, function: Callable[[Tensor], Tensor]) -> NestedTensor:
        """Return a nested tensor of the same rows, with the values' results by ``function``."""
        return nest(function(self.values), self.offsets, self.lengths, self.ragged, self.shortest, self.longest)

    def to_text(self, tensor: Tensor) -> str:
        """Return the sizes, the offsets and the history, as torch does."""
        history = f", requires_grad={tensor.requires_grad}" if tensor.requires_grad else ""
        history = history if tensor.grad_fn is None else f", grad_fn=<{tensor.grad_fn.name()}>"
        whole = tensor.is_contiguous()
        return f"NestedTensor(size={self.shape}, offsets={self.offsets}{history}, contiguous={whole})"

    def deep_copy(self, tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
        """Return a copy with values and offsets of its own."""
        lengths = None if self.lengths is None else copy.deepcopy(self.lengths, memo)
        values, offsets = copy.deepcopy(self.values, memo), copy.deepcopy(self.offsets, memo)
        return nest(values, offsets, lengths, self.ragged, self.shortest, self.longest)

    def reduce(self, tensor: Tensor) -> tuple[Any, ...]:
        """Return the components of a pickled tensor."""
        parts = (self.values, self.offsets, self.lengths, self.ragged, self.shortest, self.longest)
        return nest, parts

    def enter_gradient(self, gradient: Tensor) -> Tensor:
        """Return the values of a gradient that enters the graph."""
        return values_of(gradient)

    def leave_gradient(self, gradient: Tensor) -> Tensor:
        """Return the gradient of the values as that of the nested tensor."""
        return wrap_values(self, gradient)


JAGGED = TensorLayout(
    "NestedTensor",
    Jagged,
    component="values",
    shape=lambda record: record.shape,
    dtype=lambda record: dc.dtype(record.values),
    strides=lambda record: record.strides,
    hint="x.unbind() has the rows, x.values() all elements, and x.to_padded_tensor(0.) is a strided tensor",
    passed_by=AUTOCAST | DispatchKey.FuncTorchDynamicLayerFrontMode | DispatchKey.FuncTorchGradWrapper,
    components_have_history=True,
)
_AUTOGRAD = DispatchKey.AutogradNestedTensor.value


class NestedTensor(HistoryOfValues):
    """A batch of tensors whose sizes differ in one dimension (source: torch's jagged layout).

    `methods` completes it with the methods that are made of its operators.

    >>> import torchlike
    >>> x = torchlike.nested.nested_tensor([[1., 2.], [3.]], layout=torchlike.jagged)
    >>> x.values() * 2
    tensor([2., 4., 6.])
    """

    __slots__ = ()
    __module__ = "torchlike.nested"
    if TYPE_CHECKING:
        _dispatch_data: Jagged

    # The components.

    def values(self) -> Tensor:
        """Return the elements of all rows as one tensor, which shares their memory."""
        values = self._dispatch_data.values
        return values.view_as(values) if values.requires_grad and values.is_leaf else values

    def offsets(self) -> Tensor:
        """Return where each row begins in the ragged dimension of the values, and where the last ends."""
        return self._dispatch_data.offsets

    def lengths(self) -> Tensor | None:
        """Return the lengths of the rows where there may be gaps between them, else None."""
        return self._dispatch_data.lengths

    # The names that programs written for torch read them by.

    @property
    def _values(self) -> Tensor:
        return self._dispatch_data.values

    @property
    def _offsets(self) -> Tensor:
        return self._dispatch_data.offsets

    @property
    def _lengths(self) -> Tensor | None:
        return self._dispatch_data.lengths

    @property
    def _ragged_idx(self) -> int:
        return self._dispatch_data.ragged

    def _get_max_seqlen(self) -> int:
        return self._dispatch_data.find_longest()

    def _get_min_seqlen(self) -> int:
        return self._dispatch_data.find_shortest()

    _max_seqlen, _min_seqlen = property(_get_max_seqlen), property(_get_min_seqlen)

    # Readers of sizes.

    def dim(self) -> int:
        """Return the number of dimensions, the batch's included."""
        return self._dispatch_data.values.dim() + 1

    @property
    def ndim(self) -> int:
        """The number of dimensions, the batch's included."""
        return self._dispatch_data.values.dim() + 1

    def numel(self) -> int:
        """Return the number of elements of all rows."""
        record = self._dispatch_data
        if record.lengths is None:
            return record.values.numel()
        packed = dc.shape(record.values)[record.ragged - 1]
        return int(record.lengths.sum().item()) * (record.values.numel() // max(packed, 1))

    nelement = numel

    def is_contiguous(self, *, memory_format: int = 0) -> bool:
        """Return whether the values lie in memory without gaps, in row-major order."""
        record = self._dispatch_data
        return record.lengths is None and record.values.is_contiguous(memory_format=memory_format)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._dispatch_data.refuse("assignment to items")

    # Other devices.

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return the tensor with another dtype or on another device, with the same ragged size."""
        record = self._dispatch_data
        args = tuple([values_of(each) if isinstance(each, NestedTensor) else each for each in args])
        return replace_values(self, to(record.values, *args, **kwargs))

    def cpu(self, *, memory_format: Any = None) -> Any:
        """Return the tensor on the cpu."""
        return replace_values(self, cpu(self._dispatch_data.values, memory_format=memory_format))


def nest(
    values: Tensor,
    offsets: Tensor,
    lengths: Tensor | None = None,
    ragged: int = 1,
    shortest: int | None = None,
    longest: int | None = None,
) -> NestedTensor:
    """Return the nested tensor of these components, which are not looked at."""
    return _hold(
        JAGGED.make(values=values, offsets=offsets, lengths=lengths, ragged=ragged, shortest=shortest, longest=longest)
    )


def _hold(record: Jagged) -> NestedTensor:
    made = object.__new__(NestedTensor)
    made._dispatch_data = record
    made._dispatch_mask = JAGGED.key_of(record) | _AUTOGRAD | frontend.marker
    return made


def wrap_values(record: Jagged, values: Tensor, ragged: int | None = None) -> NestedTensor:
    """Return a nested tensor of other values with the same rows, in the dimension ``ragged`` where it has moved.

    The values lie on the device of the record's.
    """
    kept = record.ragged if ragged is None else ragged
    return _hold(type(record)(values, record.offsets, record.lengths, kept, record.shortest, record.longest))


def replace_values(tensor: NestedTensor, values: Tensor) -> NestedTensor:
    """Return the tensor with its values elsewhere, to where the offsets follow; itself if they are its own."""
    record = tensor._dispatch_data
    if values is record.values:
        return tensor
    moved = [
        None if each is None else share_ragged_size(each, to(each, values.device))
        for each in (record.offsets, record.lengths)
    ]
    assert moved[0] is not None
    return nest(values, moved[0], moved[1], record.ragged, record.shortest, record.longest)
