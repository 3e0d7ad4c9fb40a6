"""In-place and ``out=`` overloads, derived from the functional ones.

``op_`` is the functional operator followed by a copy into ``self``, ``op.out`` by a resize where needed and a copy into
``out``. Such a kernel is implicit where the functional operator is an implicit composite: the copy is differentiable too.
A backend that can write into its arrays directly registers its own.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.errors import AtenError
from dispatch_aten.operators import ATEN, OperatorDef
from dispatch_aten.promotion import check_output_dtype
from dispatch_aten.shapes.layout import check_output_shape, check_written
from dispatch_aten.variants import base_name, functional_of, is_inplace

from ._shared import Array, aten, meta_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch_aten.dtypes import ScalarType

__all__ = ["NOT_DERIVED", "register", "write_out"]

NOT_DERIVED: Final = frozenset({"copy_", "fill_.Scalar", "index_put_"})
"""In-place overloads that every backend has: their functional overloads are a copy and these."""

_RESIZED: Final = (
    "An output with one or more elements was resized since it had shape {}, which does not match the required output "
    "shape {}. Give an output of the right shape, or an empty one."
)


def register(
    library: dc.Library, implicit: dict[str, Callable[..., Any]], explicit: dict[str, Callable[..., Any]]
) -> None:
    """Register the derived kernel of every in-place and ``out=`` overload that has no kernel of its own."""
    for operator in ATEN:
        functional = functional_of(operator.name)
        if operator.name in NOT_DERIVED or functional is None or operator.name in implicit or operator.name in explicit:
            continue
        key = "CompositeImplicitAutograd" if functional in implicit else "CompositeExplicitAutograd"
        make = _out if not is_inplace(operator.name) else _inplace_of_copy if functional in implicit else _inplace
        library.impl(operator.name, dc.kernel_factory(_Maker(make, operator, functional)), key)


class _Maker:
    """Makes a derived kernel when its table slot is first used."""

    def __init__(
        self, make: Callable[[OperatorDef, Any], Callable[..., Any]], operator: OperatorDef, functional: str
    ) -> None:
        self.make, self.operator, self.functional = make, operator, functional

    def __call__(self, op: Any, keyset: Any) -> Callable[..., Any]:
        packet, _, overload = self.functional.partition(".")
        return self.make(self.operator, getattr(getattr(aten, packet), overload or "default"))


def _inplace(operator: OperatorDef, functional: Any) -> Callable[..., Any]:
    qualified = f"aten::{operator.name}"

    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        shape = dc.shape(self)
        try:
            check_written(meta_of(self))
            result = functional(self, *args, **kwargs)
            check_output_dtype(dc.dtype(result), dc.dtype(self))
            check_output_shape(dc.shape(result), shape)
        except AtenError as error:
            raise error.at(qualified) from None
        return aten.copy_.default(self, result)

    kernel.__name__ = kernel.__qualname__ = base_name(operator.name)
    return kernel


def _inplace_of_copy(operator: OperatorDef, functional: Any) -> Callable[..., Any]:
    """Compute from a copy: an implicit composite's parts may save their input for backward, which is then written to."""
    return _inplace(operator, lambda self, *args, **kwargs: functional(aten.clone.default(self), *args, **kwargs))


def _out(operator: OperatorDef, functional: Any) -> Callable[..., Any]:
    qualified = f"aten::{operator.name}"
    arguments = operator.schema[: operator.schema.rindex(" -> ")].rstrip(")").split("(", 1)[1].split(", ")
    names = tuple(part.split()[-1] for part in arguments if "!" in part)
    is_factory = "factory" in operator.tags

    def kernel(*args: Any, **kwargs: Any) -> Any:
        outputs = [kwargs.pop(name) for name in names]
        if is_factory:
            kwargs.update(dtype=dc.dtype(outputs[0]), device=dc.device(outputs[0]))
        results = functional(*args, **kwargs)
        if is_factory:
            # A factory's result is a raw array here, and copies do not mix raw arrays with a frontend's tensors.
            results = dc.wrap_like(outputs[0], results)
        if len(names) == 1:
            return write_out(outputs[0], results, qualified)
        return tuple(write_out(out, result, qualified) for out, result in zip(outputs, results, strict=True))

    kernel.__name__ = kernel.__qualname__ = base_name(operator.name)
    return kernel


def write_out(out: Array, result: Array, qualified: str) -> Array:
    """Copy ``result`` into ``out``, which takes its shape if it has another one; give back what was written."""
    _check(dc.dtype(result), out, qualified)
    shape = dc.shape(result)
    have = dc.shape(out)
    if have != shape:
        if 0 not in have:
            warnings.warn(_RESIZED.format(list(have), list(shape)), UserWarning, stacklevel=3)
        out = aten.resize_.default(out, shape)
    return aten.copy_.default(out, result)


def _check(dtype: ScalarType, out: Array, qualified: str) -> None:
    try:
        check_output_dtype(dtype, dc.dtype(out), qualified)
    except AtenError as error:
        raise error.at(qualified) from None
