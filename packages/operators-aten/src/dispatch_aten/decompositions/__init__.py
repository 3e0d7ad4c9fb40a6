"""Composite kernels: operators written in terms of other operators.

The rows of ``families`` name them by two facts:

* ``composite`` (CompositeImplicitAutograd, ``IMPLICIT``): differentiable through the operators that they call;
* ``formula`` (CompositeExplicitAutograd, ``EXPLICIT``): with a derivative formula of their own, or without a derivative.
  They serve backends that have no kernel for the operator, below autograd.

Kernels touch tensors only through ``dispatch_core.ops`` and the helpers ``shape``, ``dtype``, ``device``; so they work on
raw arrays and on every frontend's tensors. In-place and ``out=`` overloads without a function of their own follow from
the functional overload (see ``inplace_and_out``).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from dispatch_aten.families.pointwise import scalars
from dispatch_aten.kinds import find_function, names_with
from dispatch_aten.operators import KIND_OF
from dispatch_aten.variants import functional_of
from dispatch_core import KernelFactory
from dispatch_core.caches import LazyTable
from dispatch_core.calls import traits_of

from . import aliases, inplace_and_out
from ._required import RequiredKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from dispatch_aten.operators import OperatorDef

__all__ = ["EXPLICIT", "GIVING_WAY", "IMPLICIT", "RequiredKernel", "composite_kernels", "required_kernels", "way_of"]


def _find_implicit(name: str) -> Callable[..., Any]:
    try:
        return find_function("composite", name)
    except KeyError:
        return aliases.forward(aliases.TARGETS[name])


def _list_implicit() -> list[str]:
    own = {*names_with("composite"), *aliases.TARGETS}
    return [name for name in KIND_OF if name in own]


IMPLICIT: Final[LazyTable[Callable[..., Any]]] = LazyTable(_find_implicit, _list_implicit)
"""Kernels that are differentiable through their parts."""

EXPLICIT: Final = LazyTable(partial(find_function, "formula"), partial(names_with, "formula"))
"""Kernels of operators with a derivative of their own, or with none."""


_BY_ANOTHER: Final = {"mean": "mean.dim", "sort": "sort.stable", "stack": "cat", "sum": "sum.dim_IntList"}


def _find_way(name: str) -> tuple[str, Callable[..., Any]]:
    return (_BY_ANOTHER[name], EXPLICIT[name]) if name in _BY_ANOTHER else scalars.BY_TENSOR[name]


GIVING_WAY: Final = LazyTable(_find_way, [*scalars.BY_TENSOR, *_BY_ANOTHER])
"""Operators that torch computes by one other operator: that one, and the function that calls it.

A backend's own kernel for them is a shortcut, which gives way to a program's kernel for the other operator.
"""


def _is_required(operator: OperatorDef, mutable: bool, strided: bool) -> bool:
    """Return whether nothing composes an operator for arrays of a kind."""
    if not _lacks_composite(composite_kernels(operator), mutable, strided):
        return False
    return mutable or functional_of(operator.name) is None


def _lacks_composite(kernels: Mapping[str, Any], mutable: bool, strided: bool) -> bool:
    """Return whether there is no composite, or none that serves such arrays."""
    conditions = [traits_of(kernel).serves for kernel in kernels.values()]
    return all(serves is not None and not serves(mutable, strided) for serves in conditions)


def required_kernels(*, mutable: bool | None = None, strided: bool | None = None) -> tuple[RequiredKernel, ...]:
    """Return the operators that a backend has to register kernels for; the others are composed of them.

    Say whether its arrays can be written to and whether they have strides, and the list is complete: every kernel that such
    arrays need, those of ``prims`` among them. Arguments left out are True, and a call without any leaves ``prims`` out.
    A backend may leave operators out; calling one of them is an error. Each name tells the kernel's schema, its dtypes and
    its purpose: see `RequiredKernel`.

    >>> "add.Tensor" in required_kernels(), "add_.Tensor" in required_kernels()
    (True, False)
    >>> for kernel in required_kernels(mutable=False, strided=False)[:4]:
    ...     print(f"{kernel:24}{kernel.purpose}")
    prims::device_get       printing, tolist, item, copies to other devices, pickling
    prims::device_put       tensor, to, and whatever the host makes
    prims::reshape          view, reshape, squeeze, unsqueeze, flatten
    prims::permute          transpose, permute, t, movedim
    """
    from dispatch_aten.operators import ATEN, PRIMS  # every operator is made for them

    alone = mutable is None and strided is None
    kind = mutable is not False, strided is not False
    prims = () if alone else (operator for operator in PRIMS if _lacks_composite(_prims(operator), *kind))
    found = [f"prims::{operator.name}" for operator in prims]
    found += [operator.name for operator in ATEN if _is_required(operator, *kind)]
    return tuple(map(RequiredKernel, found))


def _prims(operator: OperatorDef) -> dict[str, Callable[..., Any]]:
    from dispatch_aten.families.prims.composites import PRIMITIVES

    return {"CompositeExplicitAutograd": PRIMITIVES[operator.name]} if operator.name in PRIMITIVES else {}


def composite_kernels(operator: OperatorDef) -> dict[str, Callable[..., Any] | KernelFactory]:
    """Return an operator's composite kernels by their keys.

    >>> from dispatch_aten.operators import ATEN_BY_NAME
    >>> list(composite_kernels(ATEN_BY_NAME["reshape"])), list(composite_kernels(ATEN_BY_NAME["add.Tensor"]))
    (['CompositeImplicitAutograd'], [])
    """
    found: dict[str, Callable[..., Any] | KernelFactory] = {}
    if operator.name in IMPLICIT:
        found["CompositeImplicitAutograd"] = IMPLICIT[operator.name]
    if operator.name in EXPLICIT:
        found["CompositeExplicitAutograd"] = EXPLICIT[operator.name]
    return found or inplace_and_out.derive(operator, IMPLICIT)


def way_of(name: str) -> tuple[str, Callable[..., Any], bool] | None:
    """Return the operator that another one gives way to, the function that calls it, and whether under Autograd, too."""
    found = GIVING_WAY.get(name)
    return None if found is None else (*found, name in scalars.NUMBERS_AS_TENSORS)
