"""In-place and ``out=`` overloads, derived from the functional ones.

``op_`` is the functional operator followed by a copy into ``self``, ``op.out`` by a resize where needed and a copy into
``out``. An in-place kernel is implicit where the functional operator is an implicit composite: the copy is differentiable
too. No ``out=`` kernel is: autograd refuses requires_grad before anything is written. A backend that can write into
its arrays directly registers its own.

Every output is checked, against the result and against the other arguments, before the first one is resized or
written. After the checks every output is resized that must be, which fails where NumPy shares its memory; then come the
copies, which cannot fail.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.errors import AtenError, OperatorError
from dispatch_aten.operators import ATEN_BY_NAME, OperatorDef
from dispatch_aten.output_dtypes import ACCUMULATED_IN_OUTPUT, check_output_dtype
from dispatch_aten.placing import place_like
from dispatch_aten.shapes.layout import check_output_shape, check_written
from dispatch_aten.variants import base_name, functional_of, is_inplace, written_names
from dispatch_core.frontends import check_writing
from dispatch_core.tracebacks import warn_caller

from ._overlap import ENTIRELY_APART, overlap_check
from ._shared import Array, aten, meta_of, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOT_DERIVED: Final = frozenset({"copy_", "fill_.Scalar", "index_put_"})
"""In-place overloads that every backend has: their functional overloads are a copy and these."""

_RESIZED: Final = (
    "An output with one or more elements was resized since it had shape {}, which does not match the required output "
    "shape {}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have "
    "zero elements. Give an output of the right shape, or an empty one."
)


_MASK_HINT: Final = "call the operator without outputs, which returns None for what the mask leaves out"
#: Factories of vectors whose output may have any shape with as many elements.
_SEQUENCES: Final = frozenset({"arange", "linspace", "logspace", "range"})


def derive(
    operator: OperatorDef, implicit: Mapping[str, Callable[..., Any]]
) -> dict[str, Callable[..., Any] | dc.KernelFactory]:
    """Return the kernel of an in-place or ``out=`` overload without one of its own, by its key; nothing for others."""
    functional = functional_of(operator.name)
    if operator.name in NOT_DERIVED or functional is None:
        return {}
    if not is_inplace(operator.name):
        key, make = "CompositeExplicitAutograd", _out
    elif functional in implicit:
        key, make = "CompositeImplicitAutograd", _inplace_of_copy
    else:
        key, make = "CompositeExplicitAutograd", _inplace
    return {key: dc.kernel_factory(_Maker(make, operator, functional), is_derived=make is not _out)}


class _Maker:
    """Makes a derived kernel when its table slot is first used."""

    def __init__(
        self, make: Callable[[OperatorDef, Any, Any], Callable[..., Any]], operator: OperatorDef, functional: str
    ) -> None:
        self.make, self.operator, self.functional = make, operator, functional

    def stands_for(self) -> Callable[..., Any]:
        """Return the function that is shown instead of this object."""
        return self.make

    def __call__(self, op: Any, keyset: Any) -> Callable[..., Any]:
        return self.make(self.operator, overload(self.functional), op.schema)


def _read(schema: Any, *, after: int = 0) -> tuple[tuple[int, str], ...]:
    """Return the places, counted from ``after``, and the names of the tensors that an operator only reads."""
    found = [each for each in schema.tensor_arguments if not each.argument.is_write]
    return tuple((each.index - after, each.argument.name) for each in found)


def _check_places(self: Array, argument: str = "self") -> None:
    """Refuse to write to a tensor whose elements share memory; few have a dimension without a stride."""
    if 0 in dc.strides(self):
        check_written(meta_of(self), argument)


def _write(name: str, self: Array, result: Array) -> Array:
    """Write a result of its shape to ``self``: copied, or, where arrays cannot be written to, bound as it is.

    Only below Autograd, which follows copies. Raw arrays cannot be bound; the copy refuses them.
    """
    if dc.is_mutable(self) or not hasattr(self, "_dispatch_data") or dc.dtype(self) is not dc.dtype(result):
        return aten.copy_.default(self, result)
    check_writing(self, name)
    return dc.rebind(self, place_like(result, self))


def _copy(name: str, self: Array, result: Array) -> Array:
    return aten.copy_.default(self, result)


def _inplace(
    operator: OperatorDef, functional: Any, schema: Any, write: Callable[[str, Array, Array], Array] = _write
) -> Callable[..., Any]:
    qualified = f"aten::{operator.name}"
    check_overlap = overlap_check(operator.name, _read(schema, after=1))

    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        shape = dc.shape(self)
        try:
            _check_places(self)
            if check_overlap is not None:
                check_overlap(self, shape, args, kwargs)
            result = functional(self, *args, **kwargs)
            check_output_dtype(dc.dtype(result), dc.dtype(self), qualified)
            check_output_shape(dc.shape(result), shape)
        except AtenError as error:
            raise error.at(qualified) from None
        return write(qualified, self, result)

    kernel.__name__ = kernel.__qualname__ = base_name(operator.name)
    return kernel


def _inplace_of_copy(operator: OperatorDef, functional: Any, schema: Any) -> Callable[..., Any]:
    """Compute from a copy: an implicit composite's parts may save their input for backward, which is then written to."""
    return _inplace(
        operator, lambda self, *args, **kwargs: functional(aten.clone.default(self), *args, **kwargs), schema, _copy
    )


def _out(operator: OperatorDef, functional: Any, schema: Any) -> Callable[..., Any]:
    qualified = f"aten::{operator.name}"
    check_overlap = overlap_check(operator.name, _read(schema))
    names = written_names(operator.schema)
    # A factory computes in its output's dtype, and its result is a raw array where it takes no tensor.
    made_by = ATEN_BY_NAME[functional_of(operator.name) or operator.name]
    is_factory = "factory" in made_by.tags and " dtype=" in made_by.schema and " dtype=" not in operator.schema
    is_alone = is_factory and not _read(schema)
    keeps_shape = is_factory and base_name(operator.name) in _SEQUENCES
    computes_in_output = base_name(operator.name) in ACCUMULATED_IN_OUTPUT
    is_apart = base_name(operator.name) in ENTIRELY_APART

    def kernel(*args: Any, **kwargs: Any) -> Any:
        outputs = [kwargs.pop(name) for name in names]
        if is_factory:
            kwargs.update(dtype=dc.dtype(outputs[0]), device=dc.device(outputs[0]))
        elif computes_in_output and kwargs.get("dtype") is None:
            wanted = dc.dtype(outputs[0])
            # Floats are summed in their own dtype by default, and faster without an explicit dtype.
            if not wanted.is_floating_point or wanted is not dc.dtype(args[0]):
                kwargs["dtype"] = wanted
        found = functional(*args, **kwargs)
        results = (found,) if len(names) == 1 else found
        if is_alone:
            # Copies do not mix raw arrays with a frontend's tensors.
            results = (dc.wrap_like(outputs[0], found),)
        if keeps_shape:
            results = (_as_shaped(results[0], outputs[0]),)
        fits = True
        try:
            for name, out, result in zip(names, outputs, results, strict=True):
                if result is None:
                    raise OperatorError(
                        f"output_mask leaves out the result that {name} is given for", argument=name, hint=_MASK_HINT
                    )
                shape = dc.shape(result)
                check_output_dtype(dc.dtype(result), dc.dtype(out), qualified, name)
                same = dc.shape(out) == shape
                fits = fits and same
                if same or is_apart:
                    _check_places(out, "out")
                if check_overlap is not None:
                    check_overlap(out, shape, args, kwargs)
        except AtenError as error:
            raise error.at(qualified) from None
        if not fits:
            pairs = list(zip(outputs, results, strict=True))
            if len({id(out) for out in outputs}) == len(outputs) and all(map(_is_to_grow, outputs)):
                written = [_grow(*pair) for pair in pairs]
                return written[0] if len(names) == 1 else tuple(written)
            outputs = [_fit(out, dc.shape(result)) for out, result in pairs]
        # One tensor may be given for two outputs: it takes the shape of the one that is written next.
        written = [
            _write(qualified, out if fits else _fit(out, dc.shape(result)), result)
            for out, result in zip(outputs, results, strict=True)
        ]
        return written[0] if len(names) == 1 else tuple(written)

    kernel.__name__ = kernel.__qualname__ = base_name(operator.name)
    return kernel


def _as_shaped(sequence: Array, out: Array) -> Array:
    """Return a sequence in the shape of an output with as many elements."""
    have, count = dc.shape(out), dc.shape(sequence)[0]
    return aten.view.default(sequence, have) if prod(have) == count else sequence


def _is_to_grow(out: Array) -> bool:
    """Return whether an output is empty, at the start of its memory, and alone in it: nothing is kept of it."""
    return 0 in dc.shape(out) and dc.is_mutable(out) and hasattr(out, "_dispatch_data") and not _holds(out)


def _holds(out: Array) -> bool:
    """Return whether an empty output's memory has elements, which a larger output would be written to."""
    if dc.storage_offset(out):
        return True
    try:
        aten.as_strided.default(out, (1,), (1,), 0)
    except OperatorError:
        return False
    return True


def _grow(out: Array, result: Array) -> Array:
    """Give an empty output the result's shape, strides and elements by one write."""
    found = aten._to_copy.default(result, dtype=dc.dtype(out), device=dc.device(out))
    return dc.rebind(out, place_like(found, out))


def _fit(out: Array, shape: tuple[int, ...]) -> Array:
    """Return the output, resized to the result's shape if it has another one."""
    have = dc.shape(out)
    if have == shape:
        return out
    if 0 not in have:
        warn_caller(_RESIZED.format(list(have), list(shape)))
    return aten.resize_.default(out, shape)
