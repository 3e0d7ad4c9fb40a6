"""Layouts of tensors' elements in memory, and the data of tensors that are not strided.

Note [Data of a layout]
    A tensor that is not strided holds a record of ordinary tensors (`dispatch_core.frontends.TensorLayout`), a dataclass.
    Python's questions besides operators, such as its text or a copy, have answers that come from its fields, and a
    record's class may answer by a method of its own: `LayoutData` has all of them. What only an array can answer is refused
    by name.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Final, NoReturn, Protocol

import dispatch_core as dc
from dispatch_core.frontends import TensorLayout, find_layout
from dispatch_core.keys import LAYOUTS

from ..names.lazy_names import Tensor, call_late
from ..names.spelling import spell

_NESTED: Final = dc.DispatchKey.AutogradNestedTensor.value


class layout:  # noqa: N801  # torch's name
    """How a tensor's elements lie in memory (source: ``torch.layout``).

    >>> strided
    torchlike.strided
    """

    __module__ = "torchlike"  # see Note [Public paths]
    __schema_type__ = "Layout"  # the type of such values in schemas
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"{spell()}.{self._name}"

    def __reduce__(self) -> str:
        return self._name


jagged: Final = layout("jagged")
strided: Final = layout("strided")
sparse_bsc: Final = layout("sparse_bsc")
sparse_bsr: Final = layout("sparse_bsr")
sparse_coo: Final = layout("sparse_coo")
sparse_csc: Final = layout("sparse_csc")
sparse_csr: Final = layout("sparse_csr")

_SPARSE: Final = frozenset({sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr})


class LayoutData(Protocol):
    """What a record may answer itself; see Note [Data of a layout].

    A class that inherits it has the answers that are made of its fields; one that does not is given the same.

    >>> import torchlike
    >>> LayoutData.to_text(torchlike.eye(2).to_sparse()._dispatch_data, torchlike.eye(2))
    'tensor(size=(2, 2), dtype=torchlike.float32, layout=torchlike.sparse_coo)'
    """

    __slots__ = ()
    #: The layout of such tensors, as ``tensor.layout`` shows it.
    layout: ClassVar[layout]
    #: The call that makes an ordinary tensor of one, for errors.
    densified_by: ClassVar[str]

    def to_text(self, tensor: Tensor) -> str:
        """Return the text of the tensor, as ``repr`` shows it."""
        return f"tensor(size={tuple(tensor.shape)}, dtype={tensor.dtype!r}, layout={_layout_of_record(self)})"

    def deep_copy(self, tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
        """Return a copy of the tensor, for ``copy.deepcopy``: with copies of all fields, and of its gradient."""
        made: Tensor = dc.wrap_like(tensor, _find_known(self).make(**copy.deepcopy(_fields_of(self), memo)))
        made.requires_grad_(tensor.requires_grad)
        if tensor.grad is not None:
            made.grad = copy.deepcopy(tensor.grad, memo)
        return made

    def reduce(self, tensor: Tensor) -> tuple[Any, ...]:
        """Return the function and the arguments that a pickle makes the tensor of: its record's class and fields."""
        return _rebuild, (_find_known(self).record, _fields_of(self), tensor.requires_grad)

    def enter_gradient(self, gradient: Tensor) -> Tensor:
        """Return a gradient of the tensor as its node takes it."""
        return gradient

    def leave_gradient(self, gradient: Tensor) -> Tensor:
        """Return a gradient that a node has computed as one of the tensor."""
        return gradient

    def refuse(self, what: str) -> NoReturn:
        """Raise the error for a question that tensors of this layout do not answer."""
        call = getattr(self, "densified_by", "")
        known = find_layout(self)
        hint = f"{call} makes a tensor that is strided" if call else "" if known is None else known.hint
        text = f"{what} is not supported for tensors of layout {_layout_of_record(self)}"
        raise TypeError(f"{text}\nHint: {hint}" if hint else text)


def answer(tensor: Tensor, name: str) -> Any:
    """Return the method of a tensor's record by its name in `LayoutData`: its class's own, or the one there."""
    record = tensor._dispatch_data
    found = getattr(record, name, None)
    return getattr(LayoutData, name).__get__(record) if found is None else found


def refuse_layout(tensor: Tensor, what: str) -> None:
    """Raise ``TypeError`` for ``what`` of a tensor that is not strided."""
    if tensor._dispatch_mask & LAYOUTS:
        answer(tensor, "refuse")(what)


def values_of(tensor: Tensor) -> Tensor:
    """Return the values of a nested tensor, which are a level's in its place; another tensor is returned as it is."""
    return tensor._dispatch_data.values if tensor._dispatch_mask & _NESTED else tensor


def has_sparse_layout(tensor: Tensor) -> bool:
    """Return whether a tensor is of coordinates, or of compressed rows or columns."""
    return bool(tensor._dispatch_mask & LAYOUTS) and layout_of(tensor) in _SPARSE


def layout_of(tensor: Tensor) -> layout:
    """Return the layout of a tensor."""
    return _layout_of_record(tensor._dispatch_data) if tensor._dispatch_mask & LAYOUTS else strided


def _layout_of_record(record: object) -> layout:
    found: layout | None = getattr(record, "layout", None)
    if found is None:
        name = type(record).__name__
        found = _unnamed.setdefault(name, layout(name.lower()))
    return found


#: The layouts of records that have none, by the names of their classes.
_unnamed: Final[dict[str, layout]] = {}


def _find_known(record: object) -> TensorLayout:
    found = find_layout(record)
    assert found is not None  # the data of a tensor is a layout's record
    return found


def _fields_of(record: object) -> dict[str, Any]:
    return _find_known(record).fields_of(record)


def _rebuild(record: type, fields: dict[str, Any], requires_grad: bool) -> Tensor:
    """Return the tensor of a pickled record; raises ``RuntimeError`` where nothing has made its layout known."""
    known = find_layout(record)
    if known is None:
        raise RuntimeError(
            f"no layout has records of {record.__module__}.{record.__qualname__}\nHint: import the module that makes it"
        )
    made: Tensor = _wrap(known.make(**fields))
    return made.requires_grad_(requires_grad)


_wrap: Final = call_late("torchlike.tensors.tensor", "wrap")
