"""The scalar types that each function of aclnn takes on each family of chips.

The table is ``dtypes.csv``, which ``tools/read_aclnn_pages.py`` writes from the toolkit's public pages and sources. A row
has a function, an argument (the header's name, see ``table.PARAMETERS``), the families that share the row, the scalar types
that are taken, and the *doubtful* ones, about which page and source disagree: these are not taken, and a check on a chip
tries them first.

Families are named as the toolkit's packages name them:

=========  =====================================================
family     chips
=========  =====================================================
910        Atlas training series (Ascend 910A, 910 Pro)
910B       Atlas A2 (Ascend 910B1 to 910B4)
910_93     Atlas A3
310P       Atlas inference series
310B       Atlas 200I/500 A2
950        Ascend 950PR and 950DT
=========  =====================================================
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType

from ..runtime.chips import CHIPS as FAMILIES
from .table import PARAMETERS, PROTOTYPES

CHIPS: Final = tuple(FAMILIES)
"""The families of chips that the table has."""

FILE: Final = Path(__file__).parent / "dtypes.csv"
"""The table."""

#: Family → function → argument → the scalar types that are taken, and the doubtful ones.
_Rows = dict[str, dict[str, dict[str, tuple[frozenset[ScalarType], frozenset[ScalarType]]]]]


@cache
def _rows() -> _Rows:
    found: _Rows = {chip: {} for chip in CHIPS}
    types = cache(lambda text: frozenset([ScalarType[name] for name in text.split()]))
    with FILE.open(encoding="utf-8", newline="") as file:
        for function, argument, chips, taken, doubtful in csv.reader(file):
            if function == "function":
                continue
            for chip in chips.split():
                found[chip].setdefault(function, {})[argument] = types(taken), types(doubtful)
    return found


def _function_rows(function: str, chip: str) -> dict[str, tuple[frozenset[ScalarType], frozenset[ScalarType]]]:
    rows = _rows()
    if chip not in rows:
        raise ValueError(f"the table has no chips {chip!r}; it has {', '.join(CHIPS)}")
    if function not in PROTOTYPES:
        raise ValueError(f"the table has no function {function!r}; it has those of aclnn.table.PROTOTYPES")
    return rows[chip].get(function, {})


@cache
def tensor_arguments(function: str) -> tuple[str, ...]:
    """Return the names of a function's arguments that are tensors or lists of tensors, in order.

    >>> tensor_arguments("aclnnCat"), tensor_arguments("aclnnAdds")
    (('tensors', 'out'), ('self', 'out'))
    """
    pairs = zip(PARAMETERS[function], PROTOTYPES[function], strict=True)
    return tuple([name for name, kind in pairs if "aclTensor" in kind])


@cache
def supports(function: str, chip: str) -> bool:
    """Return whether a family of chips has a function.

    Raises a ValueError for a function or a family that the table does not have.

    >>> supports("aclnnMaxPool2dWithIndices", "910B"), supports("aclnnMaxPool2dWithIndices", "910")
    (True, False)
    >>> supports("aclnnAdd", "910C")
    Traceback (most recent call last):
        ...
    ValueError: the table has no chips '910C'; it has 910, 910B, 910_93, 310P, 310B, 950
    """
    return bool(_function_rows(function, chip))


@cache
def takes(function: str, chip: str) -> Mapping[str, frozenset[ScalarType]] | None:
    """Return the scalar types that a function takes on a family of chips, for each of its arguments that is a tensor.

    Returns None where the family does not have the function. An argument that is missing takes every type, because nothing
    is known of it; a list of tensors takes what each of its tensors may be. The types of several arguments are not related
    to each other here: what a function demands of pairs is in the conditions of its row.

    Raises a ValueError for a function or a family that the table does not have.

    >>> sorted(each.short for each in takes("aclnnRelu", "910B")["self"])
    ['bfloat16', 'float16', 'float32', 'int32', 'int64', 'int8']
    >>> takes("aclnnMaxPool2dWithIndices", "910") is None
    True
    """
    rows = _function_rows(function, chip)
    return MappingProxyType({argument: taken for argument, (taken, _) in rows.items()}) if rows else None


@cache
def doubtful(function: str, chip: str) -> Mapping[str, frozenset[ScalarType]]:
    """Return the scalar types of each argument that the pages give and the sources do not, or the other way round.

    Arguments without any are left out. Raises a ValueError as `takes` does.
    """
    rows = _function_rows(function, chip)
    return MappingProxyType({argument: found for argument, (_, found) in rows.items() if found})


def find_refused(function: str, chip: str, given: Sequence[Any]) -> str:
    """Return why a family of chips does not take a call, ``""`` where it does.

    ``given`` has a value for each argument of the function: those that have a ``dtype``, and lists of such, are tensors.

    >>> from dispatch_aten.shapes import contiguous
    >>> find_refused("aclnnRelu", "910B", [contiguous((2,), ScalarType.Double)] * 2)
    'aclnnRelu takes no float64 as self on 910B'
    """
    taken = takes(function, chip)
    if taken is None:
        return f"{chip} does not have {function}"
    for parameter, value in zip(PARAMETERS[function], given, strict=True):
        types = taken.get(parameter)
        if types is None:
            continue
        for each in value if isinstance(value, (list, tuple)) else (value,):
            dtype = getattr(each, "dtype", None)
            if isinstance(dtype, ScalarType) and dtype not in types:
                return f"{function} takes no {dtype.short} as {parameter} on {chip}"
    return ""
