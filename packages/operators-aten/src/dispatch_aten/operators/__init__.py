"""Torch's operators as tables: schemas with torch's names, overloads, argument names and defaults, and tags.

One module per kind; each holds ``SCHEMAS``, a table for ``read``. The tags are torch's (``pointwise``, ``reduction``,
``inplace``, ``out``, ``inplace_view``, ``nondeterministic_seeded``, ``data_dependent_output``, ``dynamic_output_shape``) and
ours: ``view`` for results that share their input's memory, ``factory`` for operators that need no tensor, ``window`` for a
part whose beginning changes from call to call, which pipelines make at once of an array that is there, ``copy`` for
operators whose result has the elements of the first argument.

>>> [operator.schema for operator in ATEN if operator.name == "relu"]
['relu(Tensor self) -> Tensor']
"""

from __future__ import annotations

from typing import Final

from . import (
    activation,
    attention,
    comparison,
    complex_numbers,
    convolution,
    copy,
    factory,
    fft,
    indexing,
    linalg,
    lists,
    loss,
    matmul,
    normalization,
    ordering,
    padding,
    pointwise,
    pooling,
    prims,
    random,
    recurrent,
    reduction,
    resampling,
    scatter,
    special,
    view,
)
from ._table import OperatorDef, read

__all__ = ["ATEN", "ATEN_BY_NAME", "KIND_OF", "PRIMS", "OperatorDef", "row_of"]

_ALL: Final = (
    factory,
    random,
    pointwise,
    activation,
    comparison,
    reduction,
    matmul,
    loss,
    view,
    copy,
    indexing,
    lists,
    attention,
    complex_numbers,
    convolution,
    fft,
    linalg,
    normalization,
    ordering,
    padding,
    pooling,
    recurrent,
    resampling,
    scatter,
    special,
)

_ROWS: Final = {kind.__name__.rpartition(".")[2]: tuple(read(kind.SCHEMAS)) for kind in _ALL}

ATEN: Final[tuple[OperatorDef, ...]] = tuple(operator for rows in _ROWS.values() for operator in rows)
"""Every operator of the ``aten`` namespace."""

KIND_OF: Final = {operator.name: kind for kind, rows in _ROWS.items() for operator in rows}
"""The kind of each of them, which is the name of the module that has its schema."""

ATEN_BY_NAME: Final = {operator.name: operator for operator in ATEN}
"""The same by name with overload."""

PRIMS: Final[tuple[OperatorDef, ...]] = tuple(read(prims.SCHEMAS))
"""Every operator of the ``prims`` namespace."""

_BY_QUALIFIED_NAME: Final = {f"prims::{operator.name}": operator for operator in PRIMS}


def row_of(name: str) -> OperatorDef:
    """Return an operator's row by its name with overload; one of ``prims`` has its namespace before it.

    >>> row_of("relu").schema, row_of("prims::permute").name
    ('relu(Tensor self) -> Tensor', 'permute')
    """
    return _BY_QUALIFIED_NAME[name] if name.startswith("prims::") else ATEN_BY_NAME[name]
