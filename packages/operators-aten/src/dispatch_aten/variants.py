"""The names of an operator's variants: functional, in-place and ``out=``.

>>> functional_of("add_.Tensor"), functional_of("add.out"), functional_of("max.dim_max")
('add.Tensor', 'add.Tensor', 'max.dim')
>>> inplace_of("add.Tensor"), out_of("add.Tensor"), out_of("relu_")
('add_.Tensor', 'add.out', None)
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from .operators import ATEN, ATEN_BY_NAME, OperatorDef

__all__ = ["base_name", "functional_of", "inplace_of", "is_inplace", "is_out", "out_of", "written_names"]

_ARGUMENT: Final = re.compile(r"Tensor\([a-z]!\)\??(?:\[\])? \w+")


def base_name(name: str) -> str:
    """Return the operator's name without namespace and overload.

    >>> base_name("aten::add_.Tensor")
    'add_'
    """
    return name.rpartition("::")[2].partition(".")[0]


def is_inplace(name: str) -> bool:
    """Return whether the name is that of an in-place operator; ``__and__`` and its kind are not."""
    base = base_name(name)
    return base.endswith("_") and not base.endswith("__")


def is_out(name: str) -> bool:
    """Return whether the overload writes into tensors given by keyword."""
    return _functional_of_out(_bare(name)) is not None


def functional_of(name: str) -> str | None:
    """Return the functional overload that an in-place or ``out=`` overload computes; None where there is none.

    For a functional overload itself the answer is None as well.
    """
    name = _bare(name)
    if is_inplace(name):
        base, dot, overload = name.partition(".")
        found = _RENAMED_INPLACE.get(name, base[:-1] + dot + overload)
        return found if found in ATEN_BY_NAME else None
    return _functional_of_out(name)


def inplace_of(name: str) -> str | None:
    """Return the in-place overload of a functional one, or None."""
    name = _bare(name)
    base, dot, overload = name.partition(".")
    found = _RENAMED_FUNCTIONAL.get(name, f"{base}_{dot}{overload}")
    return found if found in ATEN_BY_NAME else None


def out_of(name: str) -> str | None:
    """Return the ``out=`` overload of a functional one, or None."""
    return _out_of_functional().get(_bare(name))


def written_names(schema: str) -> tuple[str, ...]:
    """Return the names of the arguments that an overload writes to, by its schema's text.

    >>> written_names("max.dim_max(Tensor self, int dim, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor, Tensor)")
    ('max', 'max_values')
    """
    arguments = schema[: schema.rindex(" -> ")].rstrip(")").split("(", 1)[1].split(", ")
    return tuple(part.split()[-1] for part in arguments if "!" in part)


def _bare(name: str) -> str:
    return name.rpartition("::")[2]


_RENAMED_INPLACE: Final[dict[str, str]] = {
    "pow_.Scalar": "pow.Tensor_Scalar",
    "pow_.Tensor": "pow.Tensor_Tensor",
    "float_power_.Scalar": "float_power.Tensor_Scalar",
    "float_power_.Tensor": "float_power.Tensor_Tensor",
    "floor_divide_.Tensor": "floor_divide",
    "transpose_": "transpose.int",
    "ldexp_": "ldexp.Tensor",
}
"""In-place overloads whose functional overload has another overload name."""

_RENAMED_FUNCTIONAL: Final = {functional: inplace for inplace, functional in _RENAMED_INPLACE.items()}


_FACTORY_ONLY: Final = re.compile(
    r", (?:\*, )?ScalarType\? dtype=\w+, Layout\? layout=None, Device\? device=None, bool\? pin_memory=None"
)


def _inputs(schema: str) -> str:
    """Spell a schema's arguments without those it writes to, for comparing overloads."""
    arguments = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    arguments = _FACTORY_ONLY.sub("", arguments)
    kept = [part for part in arguments.split(", ") if not _ARGUMENT.fullmatch(part) and part != "*"]
    return ", ".join(kept)


@cache
def _overloads() -> dict[str, list[OperatorDef]]:
    found: dict[str, list[OperatorDef]] = {}
    for operator in ATEN:
        found.setdefault(operator.name.partition(".")[0], []).append(operator)
    return found


def _functional_of_out(name: str) -> str | None:
    """Return the functional overload of an ``out=`` overload; None for others.

    Torch's overload names of ``out=`` variants follow no rule (``add.out``, ``sum.IntList_out``, ``max.dim_max``), so they
    are paired by their arguments: an ``out=`` overload is its functional one plus the written tensors.
    """
    operator = ATEN_BY_NAME.get(name)
    return _pair(name) if operator is not None and "out" in operator.tags else None


@cache
def _pair(name: str) -> str | None:
    inputs = _inputs(ATEN_BY_NAME[name].schema)
    functional = [each for each in _overloads()[base_name(name)] if "!" not in each.schema]
    return next((each.name for each in reversed(functional) if _inputs(each.schema) == inputs), None)


@cache
def _out_of_functional() -> dict[str, str]:
    pairs = ((_functional_of_out(operator.name), operator.name) for operator in ATEN)
    return {functional: out for functional, out in pairs if functional is not None}
