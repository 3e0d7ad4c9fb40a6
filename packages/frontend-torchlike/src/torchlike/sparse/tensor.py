"""The record of a sparse tensor, and its places counted through.

Note [Sparse tensors]
    ``indices`` has a column for each element, ``values`` a row: a number, or an array of the dimensions behind those that
    ``indices`` has, which are dense. A tensor is coalesced where the places are sorted and differ. The components have no
    history: a sparse tensor has its own, as any tensor, and kernels under the Sparse key of its device call operators on
    the components.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Final, TypeVar

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, get_default_dtype
from dispatch_core.frontends import TensorLayout

from ..creation.factories import FACTORIES, as_tensor
from ..functions.operator_functions import FUNCTIONS
from ..tensors.arrays import read_printable
from ..tensors.printing import add_notes, write_elements
from ..tensors.tensor import Tensor, wrap
from ..values.layouts import LayoutData, layout, layout_of, sparse_coo

_Record = TypeVar("_Record")


@dataclass(slots=True)
class Coo(LayoutData):
    """The data of a sparse tensor; see Note [Sparse tensors]."""

    indices: Tensor
    values: Tensor
    size: tuple[int, ...]
    is_coalesced: bool

    layout: ClassVar[layout] = sparse_coo
    densified_by: ClassVar[str] = "to_dense()"

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the sizes of all dimensions."""
        return self.size

    @property
    def dtype(self) -> Any:
        """Return the type of the elements."""
        return dc.dtype(self.values)

    @property
    def sparse_dim(self) -> int:
        """Return the number of dimensions that the indices have."""
        return dc.shape(self.indices)[0]

    @property
    def count(self) -> int:
        """Return the number of elements that are there."""
        return dc.shape(self.indices)[1]

    def to_text(self, tensor: Tensor) -> str:
        """Return the components, the sizes and the history, as torch does."""
        shown = {"indices": self.indices, "values": self.values}
        return write_components(tensor, shown, self.count, new_line=True)

    def deep_copy(self, tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
        """Return a copy with components of its own."""
        made = wrap_coo(
            copy.deepcopy(self.indices, memo), copy.deepcopy(self.values, memo), self.size, self.is_coalesced
        )
        made.requires_grad_(tensor.requires_grad)
        if tensor.grad is not None:
            made.grad = copy.deepcopy(tensor.grad, memo)
        return made

    def reduce(self, tensor: Tensor) -> tuple[Any, ...]:
        """Return the components of a pickled tensor."""
        return _rebuild, (self.indices, self.values, self.size, self.is_coalesced, tensor.requires_grad)


def _rebuild(indices: Tensor, values: Tensor, size: tuple[int, ...], is_coalesced: bool, requires_grad: bool) -> Tensor:
    return wrap_coo(indices, values, size, is_coalesced).requires_grad_(requires_grad)


COO = TensorLayout(
    "Sparse",
    Coo,
    component="values",
    shape=lambda record: record.size,
    dtype=lambda record: record.dtype,
    strides=lambda record: (0,) * len(record.size),
    hint="x.to_dense() is a strided tensor, and x.coalesce().values() has the elements that are there",
)


_INDENT: Final = len("tensor(")


def write_components(tensor: Tensor, components: Mapping[str, Tensor], count: int, *, new_line: bool) -> str:
    """Return the text of a tensor of components by their names; ``new_line`` begins the line of the notes."""
    shown = []
    for name, component in components.items():
        start = f"{name}=tensor("
        if component.is_meta:
            body = f"..., size={tuple(component.shape)}"
        elif not component.numel():
            body = f"[], size={tuple(component.shape)}"
        else:
            body = write_elements(read_printable(component), _INDENT + len(start))
        shown.append(f"{start}{body})")
    notes = [] if tensor.device.type == "cpu" else [f"device='{tensor.device}'"]
    notes += [f"size={tuple(tensor.shape)}", *([] if tensor.is_meta else [f"nnz={count}"])]
    real = get_default_dtype()
    usual = (real, real.to_complex(), ScalarType.Long, ScalarType.Bool)
    if tensor.dtype not in usual:
        notes.append(f"dtype={tensor.dtype!r}")
    notes.append(f"layout={tensor.layout!r}")
    if tensor.grad_fn is not None:
        notes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    return add_notes("tensor(" + (",\n" + " " * _INDENT).join(shown), notes, _INDENT, new_line=new_line)


def wrap_coo(indices: Tensor, values: Tensor, size: Sequence[int], is_coalesced: bool = False) -> Tensor:
    """Return the sparse tensor of these components, which are not looked at; one element is always coalesced."""
    known = is_coalesced or dc.shape(indices)[1] < 2
    return wrap(COO.make(indices=indices, values=values, size=tuple(size), is_coalesced=known))


def is_sparse(value: object) -> bool:
    """Return whether a value is a sparse tensor, or a transform's for one."""
    return isinstance(getattr(value, "_dispatch_data", None), Coo) or (
        isinstance(value, Tensor) and layout_of(value) is sparse_coo
    )


def expect_sparse(tensor: Tensor, what: str, words: str = "sparse coordinate tensor layout") -> Coo:
    """Return the record of a sparse tensor; raises ``RuntimeError``, in torch's words, for another."""
    if not is_sparse(tensor):
        found = tensor.layout._name.title().replace("_", "")
        raise RuntimeError(f"{what} expected {words} but got {found}\nHint: to_sparse() makes a sparse tensor")
    return record_of(tensor)


def record_of(tensor: Tensor) -> Coo:
    """Return the record of a sparse tensor, or of the one that a transform's represents; raises as `find_record`."""
    return find_record(tensor, Coo)


def find_record(tensor: Tensor, kind: type[_Record]) -> _Record:
    """Return the record of a tensor, or of the one that a transform's represents.

    Raises ``NotImplementedError`` for one that `vmap` has batched: the components are those of all rows.
    """
    record: Any = tensor._dispatch_data
    while not isinstance(record, kind):
        if record.hidden:
            raise NotImplementedError(
                "vmap: the components of a sparse tensor are those of all rows\n"
                "Hint: x.to_dense() and operators on x are those of one row"
            )
        record = record.value._dispatch_data
    return record


def replace_values(record: Coo, values: Tensor, is_coalesced: bool | None = None) -> Tensor:
    """Return a sparse tensor with other values in the same places, which count as coalesced where they did."""
    return copy_record(record, record.indices, values, is_coalesced)


def copy_record(record: Coo, indices: Tensor, values: Tensor, is_coalesced: bool | None = None) -> Tensor:
    """Return a sparse tensor of other components, which count as coalesced where the record's do."""
    made = wrap_coo(indices, values, record.size)
    record_of(made).is_coalesced = record.is_coalesced if is_coalesced is None else is_coalesced
    return made


def count_through(indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the places as numbers, row by row.

    >>> import torchlike
    >>> count_through(torchlike.tensor([[0, 1], [2, 0]]), (2, 3))
    tensor([2, 3])
    """
    if len(sizes) == 1:
        return indices.reshape(-1)
    steps = [[prod(sizes[dim + 1 :])] for dim in range(len(sizes))]
    return (indices * as_tensor(steps, dtype=indices.dtype, device=indices.device).reshape(-1, 1)).sum(0)


def places_of(numbers: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the places that numbers stand for; the inverse of `count_through`."""
    if len(sizes) == 1:
        return numbers.unsqueeze(0)
    parts = []
    for dim, size in enumerate(sizes):
        whole = FUNCTIONS["floor_divide"](numbers, prod(sizes[dim + 1 :]) or 1)
        parts.append(whole % (size or 1) if dim else whole)
    return FUNCTIONS["stack"](parts) if parts else numbers.new_zeros((0, numbers.shape[0]))


def find_all(numbers: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places of wanted numbers among sorted ones: those in ``wanted``, and for each its places in ``numbers``.

    >>> import torchlike
    >>> find_all(torchlike.tensor([1, 1, 4]), torchlike.tensor([4, 2, 1]))
    (tensor([0, 2, 2]), tensor([2, 0, 1]))
    """
    first = FUNCTIONS["searchsorted"](numbers, wanted)
    counts = FUNCTIONS["searchsorted"](numbers, wanted, right=True) - first
    found = FACTORIES["arange"](dc.shape(wanted)[0], device=wanted.device).repeat_interleave(counts)
    # Equal numbers follow one another, from the first one on.
    steps = FUNCTIONS["ones_like"](found).cumsum(0) - 1 - (counts.cumsum(0) - counts).index_select(0, found)
    return found, first.index_select(0, found) + steps


def gather(source: Tensor, indices: Tensor) -> Tensor:
    """Return the elements of a strided or sparse tensor in these places, zeros where a sparse one has none."""
    rank = dc.shape(indices)[0]
    sizes, rest = tuple(source.shape[:rank]), tuple(source.shape[rank:])
    wanted = count_through(indices, sizes)
    if not is_sparse(source):
        return FUNCTIONS["index_select"](source.reshape(prod(sizes), *rest), 0, wanted)
    whole = dc.ops.sparse.coalesce(source)
    record = record_of(whole)
    if not record.count:
        return record.values.new_zeros((dc.shape(wanted)[0], *rest))
    there = count_through(record.indices, sizes)
    found = FUNCTIONS["searchsorted"](there, wanted).clamp(max=record.count - 1)
    hits = (there.index_select(0, found) == wanted).to(record.values.dtype)
    values: Tensor = dc.ops.sparse.values(whole)  # with its history, for gradients of gradients
    return values.index_select(0, found) * hits.reshape(-1, *[1] * len(rest))
