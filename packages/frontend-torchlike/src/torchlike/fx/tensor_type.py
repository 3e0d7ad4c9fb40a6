"""Types of tensors by their sizes, as annotations (source: ``torch.fx.tensor_type``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """The type of tensors of some sizes, each a number or `Dyn`.

    >>> TensorType((1, 2)), TensorType[1, Dyn]
    (TensorType[(1, 2)], TensorType[(1, Dyn)])
    """

    def __init__(self, dim: Sequence[Any]) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    @property
    def dims(self) -> Sequence[Any]:
        """The sizes."""
        return self.__args__

    def __repr__(self) -> str:
        return f"TensorType[{self.dims}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and list(self.dims) == list(other.dims)

    def __hash__(self) -> int:
        return hash(tuple(self.dims))

    @staticmethod
    def __class_getitem__(*sizes: Any) -> TensorType:
        return TensorType(tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], tuple) else sizes)


class _DynType:
    """The type of a size or a value that is not known."""

    __name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    def __hash__(self) -> int:
        return hash(_DynType)

    def __repr__(self) -> str:
        return "Dyn"


Dyn: Final = _DynType()


def is_consistent(t1: Any, t2: Any) -> bool:
    """Return whether a value can have both types.

    >>> is_consistent(TensorType((1, Dyn)), TensorType((1, 2))), is_consistent(TensorType((1,)), TensorType((2,)))
    (True, False)
    """
    if t1 == t2 or Dyn in (t1, t2):
        return True
    return _compare(is_consistent, t1, t2)


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Return whether a type says as much as another one, or more.

    >>> is_more_precise(TensorType((1, 2)), TensorType((1, Dyn))), is_more_precise(Dyn, int)
    (True, False)
    """
    return t2 in (t1, Dyn) or _compare(is_more_precise, t1, t2)


def _compare(relation: Any, t1: Any, t2: Any) -> bool:
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType):
        return False
    return len(t1.dims) == len(t2.dims) and all(map(relation, t1.dims, t2.dims))
