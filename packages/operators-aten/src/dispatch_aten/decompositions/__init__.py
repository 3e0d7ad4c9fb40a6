"""Composite kernels: operators written in terms of other operators.

Each module holds two tables, from an operator's name to a function:

* ``IMPLICIT`` (CompositeImplicitAutograd): differentiable through the operators that they call;
* ``EXPLICIT`` (CompositeExplicitAutograd): with a derivative formula of their own, or without a derivative. They serve
  backends that have no kernel for the operator, below autograd.

Kernels touch tensors only through ``dispatch_core.ops`` and the helpers ``shape``, ``dtype``, ``device``; so they work on
raw arrays and on every frontend's tensors. In-place and ``out=`` overloads without a function of their own follow from
the functional overload (see ``derived``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import (
    aliases,
    copies,
    derived,
    factories,
    indexing,
    lists,
    losses,
    matmul,
    pointwise,
    random,
    reductions,
    scalars,
    views,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dispatch_core import Library

__all__ = ["EXPLICIT", "IMPLICIT", "register"]

_MODULES: Final = (
    aliases,
    copies,
    factories,
    indexing,
    lists,
    losses,
    matmul,
    pointwise,
    random,
    reductions,
    scalars,
    views,
)

IMPLICIT: Final[dict[str, Callable[..., Any]]] = {
    name: kernel for module in _MODULES for name, kernel in module.IMPLICIT.items()
}
"""Kernels that are differentiable through their parts."""

EXPLICIT: Final[dict[str, Callable[..., Any]]] = {
    name: kernel for module in _MODULES for name, kernel in module.EXPLICIT.items()
}
"""Kernels of operators with a derivative of their own, or with none."""


def register(library: Library) -> None:
    """Register every composite kernel in ``library``."""
    for name, kernel in IMPLICIT.items():
        library.impl(name, kernel, "CompositeImplicitAutograd")
    for name, kernel in EXPLICIT.items():
        library.impl(name, kernel, "CompositeExplicitAutograd")
    derived.register(library, IMPLICIT, EXPLICIT)
