"""The operators' errors: torch's builtin exception and ``DispatchError`` in one, text in torch's manner.

Every message ends with the operator and, where one argument is at fault, its name, both arguments of the constructor:

>>> print(DimensionError("Dimension out of range", operator="aten::sum.dim_IntList", argument="dim"))
Dimension out of range (argument 'dim' of aten::sum.dim_IntList)
"""

from __future__ import annotations

from typing import Self

from dispatch_core.errors import DispatchError

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "AtenError",
    "DataDependentShapeError",
    "DimensionError",
    "DtypeError",
    "LinAlgError",
    "MetaDataError",
    "OperatorError",
    "ShapeError",
    "UnsupportedError",
    "library_hint",
]


def library_hint(name: str) -> str:
    """Return the hint of an error about a library that is not installed: the extra that brings it, or it alone.

    >>> library_hint("scipy")
    'pip install "dispatch-frontend-torchlike[full]", or scipy alone'
    """
    return f'pip install "dispatch-frontend-torchlike[full]", or {name} alone'


class AtenError(DispatchError):
    """The root of the operator library's errors.

    ``operator`` is the qualified name of the operator at fault, ``argument`` the name of its argument; both may be empty.
    """

    def __init__(self, message: str, *, operator: str = "", argument: str = "", hint: str | None = None) -> None:
        self.text = message
        self.operator = operator
        self.argument = argument
        super().__init__(message + self._place(), hint=hint)

    def at(self, operator: str) -> Self:
        """Name ``operator`` in the message, unless one is named already; return the same error back.

        Shared shape rules do not know their operator, so their caller adds it, and only when they fail.

        >>> str(ShapeError("size mismatch", argument="mat2").at("aten::mm"))
        "size mismatch (argument 'mat2' of aten::mm)"
        """
        if not self.operator:
            self.operator = operator
            hint = "" if self.hint is None else f"\nHint: {self.hint}"
            self.args = (self.text + self._place() + hint,)
        return self

    def _place(self) -> str:
        if self.argument and self.operator:
            return f" (argument '{self.argument}' of {self.operator})"
        if self.argument:
            return f" (argument '{self.argument}')"
        return f" ({self.operator})" if self.operator else ""


class OperatorError(AtenError, RuntimeError):
    """An operator cannot be carried out with these arguments."""


class ShapeError(OperatorError):
    """The arguments' shapes or strides do not fit the operator, or each other."""


class DtypeError(OperatorError):
    """The operator does not take, or cannot return, this dtype."""


class LinAlgError(OperatorError):
    """A matrix is singular, not positive-definite or ill-conditioned (source: ``torch.linalg.LinAlgError``)."""


class DimensionError(AtenError, IndexError):
    """A dimension or an index is out of range."""


class ArgumentTypeError(AtenError, TypeError):
    """An argument has a type that torch refuses with ``TypeError``."""


class ArgumentValueError(AtenError, ValueError):
    """An argument has a value that torch refuses with ``ValueError``."""


class UnsupportedError(AtenError, NotImplementedError):
    """Torch has no such operation for this dtype or device either, or a library that computes it is not installed."""


class MetaDataError(UnsupportedError):
    """The values of a meta tensor were asked for; it has none."""


class DataDependentShapeError(UnsupportedError):
    """A result's shape depends on values, so that no shape rule can infer it."""

    def __init__(self, message: str, *, operator: str = "", argument: str = "", hint: str | None = None) -> None:
        super().__init__(f"{message}, and Meta tensors have none", operator=operator, argument=argument, hint=hint)
