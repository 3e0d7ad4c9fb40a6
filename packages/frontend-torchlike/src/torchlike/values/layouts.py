"""Layouts of tensors' elements in memory, and the data of tensors that are not strided.

Note [Data of a layout]
    A tensor that is not strided holds a record of ordinary tensors (`dispatch_core.frontends.TensorLayout`), a dataclass
    that inherits `LayoutData`. Python's questions besides operators, such as its text or a copy, it answers, or
    refuses by name.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, NoReturn

from dispatch_core.keys import LAYOUTS

from ..names.lazy_names import Tensor
from ..names.spelling import spell


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


class LayoutData:
    """The data of a tensor that is not strided; see Note [Data of a layout]."""

    __slots__ = ()
    #: The layout of such tensors, and the call that makes an ordinary tensor of one.
    layout: ClassVar[layout]
    densified_by: ClassVar[str]

    def to_text(self, tensor: Tensor) -> str:
        """Return the text of the tensor, as ``repr`` shows it."""
        return f"tensor(size={tuple(tensor.shape)}, dtype={tensor.dtype!r}, layout={self.layout})"

    def deep_copy(self, tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
        """Return a copy of the tensor, for ``copy.deepcopy``; raises ``TypeError`` where there is none."""
        self.refuse("copy.deepcopy")

    def reduce(self, tensor: Tensor) -> tuple[Any, ...]:
        """Return the parts of the pickled tensor; raises ``TypeError`` where it cannot be pickled."""
        self.refuse("pickle")

    def enter_gradient(self, gradient: Tensor) -> Tensor:
        """Return a gradient of the tensor as its node takes it."""
        return gradient

    def leave_gradient(self, gradient: Tensor) -> Tensor:
        """Return a gradient that a node has computed as one of the tensor."""
        return gradient

    def refuse(self, what: str) -> NoReturn:
        """Raise the error for a question that tensors of this layout do not answer."""
        raise TypeError(
            f"{what} is not supported for tensors of layout {self.layout}\nHint: {self.densified_by} makes a tensor that is"
            " strided"
        )


def refuse_layout(tensor: Tensor, what: str) -> None:
    """Raise ``TypeError`` for ``what`` of a tensor that is not strided."""
    if tensor._dispatch_mask & LAYOUTS:
        tensor._dispatch_data.refuse(what)


def has_sparse_layout(tensor: Tensor) -> bool:
    """Return whether a tensor is of coordinates, or of compressed rows or columns."""
    return bool(tensor._dispatch_mask & LAYOUTS) and tensor._dispatch_data.layout in _SPARSE


def layout_of(tensor: Tensor) -> layout:
    """Return the layout of a tensor."""
    found: layout = tensor._dispatch_data.layout if tensor._dispatch_mask & LAYOUTS else strided
    return found
