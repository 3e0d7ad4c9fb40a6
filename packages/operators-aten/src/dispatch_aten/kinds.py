"""Where the rows of an operator stand: in each room in the module of the operator's kind, with few exceptions.

An operator's kind is the module of ``operators/`` that has its schema. Its shape rule, decomposition and formula are
looked for in the modules of that name, and in those of ``BESIDE``; so no more modules are imported than the operators of a
program need.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .operators import ATEN, KIND_OF

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

__all__ = ["BESIDE", "all_modules", "find", "is_operator", "kind_of", "modules_of", "names_in"]

BESIDE: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "shapes": {
        "activation": ("pointwise",),
        "comparison": ("pointwise",),
        "factory": ("sequences",),
        "lists": ("view",),
        "pointwise": ("view",),
        "pooling": ("adaptive_pooling",),
        "reduction": ("pointwise",),
        "view": ("splitting",),
    },
    "decompositions": {
        "": ("aliases", "scalars"),
        "comparison": ("pointwise",),
        "copy": ("inplace_views", "splitting"),
        "factory": ("sequences",),
        "fft": ("stft",),
        "linalg": ("least_squares", "matrix_norms", "matrix_products", "reflections"),
        "lists": ("joining",),
        "loss": ("margin_loss", "distance"),
        "matmul": ("einsum", "matrix_products"),
        "ordering": ("histograms",),
        "pointwise": ("view",),
        "pooling": ("adaptive_pooling",),
        "random": ("dropout",),
        "reduction": ("calculus", "scans"),
        "resampling": ("grids",),
        "view": ("inplace_views", "splitting"),
    },
    "derivatives": {
        "comparison": ("pointwise",),
        "factory": ("copy",),
        "indexing": ("view",),
        "lists": ("ordering",),
        "pointwise": ("activation",),
    },
}
"""Room → kind → the further modules in which rows of its operators stand; "" is every kind."""

#: Kinds without a module of their own in a room: others have all the rows, or there are none.
_WITHOUT: Final = {
    "shapes": frozenset({"comparison"}),
    "decompositions": frozenset({"comparison"}),
    "derivatives": frozenset({"comparison", "factory"}),
}


def kind_of(name: str) -> str | None:
    """Return an operator's kind, by its name with overload and perhaps namespace; None for an unknown one.

    >>> kind_of("aten::mul.Tensor")
    'pointwise'
    """
    return KIND_OF.get(name.removeprefix("aten::"))


@cache
def _packets() -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in KIND_OF)


def is_operator(name: str) -> bool:
    """Return whether an operator has that name, without an overload."""
    return name in _packets()


@cache
def _modules(room: str, kind: str) -> tuple[ModuleType, ...]:
    own = () if kind in _WITHOUT[room] else (kind,)
    names = (*own, *BESIDE[room].get(kind, ()), *BESIDE[room].get("", ()))
    return tuple(import_module(f"{__package__}.{room}.{name}") for name in names)


def modules_of(room: str, name: str) -> tuple[ModuleType, ...]:
    """Return the modules of a room in which an operator's rows stand, by its name with overload; none for an unknown one.

    >>> [module.__name__ for module in modules_of("derivatives", "topk")]
    ['dispatch_aten.derivatives.lists', 'dispatch_aten.derivatives.ordering']
    """
    kind = KIND_OF.get(name)
    return () if kind is None else _modules(room, kind)


def all_modules(room: str) -> Iterator[ModuleType]:
    """Yield every module of a room, once."""
    yield from dict.fromkeys(module for kind in dict.fromkeys(KIND_OF.values()) for module in _modules(room, kind))


def find(room: str, table: str, name: str) -> Any:
    """Return an operator's row in a table of its kind's modules.

    Raises ``KeyError`` where there is none.
    """
    for module in modules_of(room, name):
        rows = getattr(module, table, {})
        if name in rows:
            return rows[name]
    raise KeyError(name)


def names_in(room: str, table: str) -> list[str]:
    """Return the operators with a row in a table of a room, in the order of the operators."""
    names = {name for module in all_modules(room) for name in getattr(module, table, ())}
    return [operator.name for operator in ATEN if operator.name in names]
