"""The classes of operators' named results, each made when it is first used; users know them as `torchlike.return_types`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, Final

from dispatch_core.caches import LazyTable

from ..names.operator_table import OPERATORS
from ..names.spelling import spell


def _make(name: str) -> Callable[..., Any]:
    """Make the class of an operator's named results, printed as torch prints it."""
    fields = OPERATORS[name].names
    if fields is None:
        raise KeyError(name)
    base: Any = namedtuple(name, fields)  # type: ignore[misc]  # noqa: PYI024  # known at run time only

    def text(self: Any) -> str:
        inner = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"{spell()}.return_types.{name}(\n{inner})"

    # torch's are struct sequences, which say so by these numbers.
    counts = {"n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0}
    return type(
        name, (base,), {"__slots__": (), "__repr__": text, "__module__": spell("torchlike.return_types"), **counts}
    )


#: The classes by the operators' names.
RESULT_CLASSES: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    _make, lambda: [name for name, operator in OPERATORS.items() if operator.names is not None]
)
