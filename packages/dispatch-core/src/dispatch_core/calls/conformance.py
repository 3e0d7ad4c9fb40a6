"""Comparing arrays with the answer of an operator's shape rule, its kernel under Meta, and errors that name the kernel.

When results are compared is said in Note [When results are compared] in `result_watch`.

Note [Kernels under Meta that are shape rules]
    A kernel under Meta is the operator's shape rule where the package that defines the operator registered it, or the
    plugin of the device meta. A program's own operators have a rule where the program registered a fake: a kernel that it
    registers by ``impl`` under Meta is a kernel like any other. Those that are no rules are called where a call arrives at
    Meta, where a pipeline records one, and by ``opcheck``; beside a kernel for another key never, unless
    ``DISPATCH_CHECK_RESULTS`` asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from ..arrays.access import check_answers, dtype, shape, sizes_of, strides
from ..arrays.owners import ARRAY_TYPES, KEY_TYPES, is_tensor
from ..bookkeeping.levels import Level
from ..errors import KernelResultError
from ..keys.table import DispatchKey
from ..surroundings.environment import Switch

if TYPE_CHECKING:
    from ..arrays.types import Array, Dtype
    from ..operators.entry import OperatorEntry
    from ..operators.registration import Registration


#: The property in which an array differs from the expected one, its value, and the expected value.
Difference: TypeAlias = tuple[str, object, object]
#: Whether results are always compared; see Note [When results are compared] in `result_watch`.
ALWAYS: Final = Switch("DISPATCH_CHECK_RESULTS")


def significant_strides(sizes: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides that decide where elements lie: those of sizes beyond 1, where there are elements.

    >>> significant_strides((2, 1, 3), (3, 77, 1))
    (3, 1)
    """
    return () if 0 in sizes else tuple([step for step, size in zip(steps, sizes, strict=True) if size != 1])


def compare(
    array: object, sizes: tuple[int | None, ...], steps: tuple[int, ...] | None, kind: Dtype
) -> Difference | None:
    """Return how a kernel's array differs from the expected one: the property, its value and the expected value; or None.

    A size that either side does not know is equal to any. Strides count where they are given and the array's type has them.
    """
    if not is_tensor(array):
        return "type", f"{type(array).__module__}.{type(array).__qualname__}", "an array"
    if type(array) in ARRAY_TYPES:
        check_answers(array, kind)
    found = tuple(sizes_of(array))
    if len(found) != len(sizes) or any(
        one != other and one is not None and other is not None for one, other in zip(found, sizes, strict=True)
    ):
        return "shape", found, tuple(sizes)
    if dtype(array) != kind:
        return "dtype", dtype(array), kind
    if steps is None or None in found or ARRAY_TYPES[type(array)].strides is None:
        return None
    got, wanted = significant_strides(shape(array), strides(array)), significant_strides(shape(array), steps)
    return None if got == wanted else ("strides", strides(array), tuple(steps))


def compare_with(array: object, meta: object) -> Difference | None:
    """Return the same for the array without data that a rule gave."""
    return compare(array, shape(meta), strides(meta), dtype(meta))


def compare_shape(array: object, meta: object) -> Difference | None:
    """Return the same, where dtype and strides do not matter."""
    return compare(array, shape(meta), None, dtype(array))


HINTS: Final = {
    "type": "return the backend's own array",
    "length": "the kernel must return as many arrays as the operator's arguments say",
    "shape": "the kernel must keep or drop dimensions as the operator's arguments say",
    "dtype": "the kernel must give its result the dtype that the rule says, whatever it computes in",
    "strides": "lay the result out as the rule says; a type of array that has no strides leaves them out of its ArrayType",
}


def misfit_error(
    entry: OperatorEntry, found: Difference, who: str, index: int = 0, count: int = 1
) -> KernelResultError:
    """Return the error for a result that differs from the shape rule's answer; ``who`` is the text that names its kernel."""
    what, got, wanted = found
    rule = entry.newest(DispatchKey.Meta)
    place = f"result {index}" if count > 1 else "the result"
    says = "" if rule is None else f" ({rule.origin})"
    return KernelResultError(
        f"{entry.name}: {place} has {what} {got}, where the shape rule{says} says {wanted}\n{who}", hint=HINTS[what]
    )


def find_rule(entry: OperatorEntry) -> Registration | None:
    """Return the operator's shape rule; None where a composite serves Meta, or a kernel that is no rule."""
    found = entry.newest(DispatchKey.Meta)
    if found is None or found.is_fallthrough:
        return None
    return found if ALWAYS.is_on() or _is_rule(entry, found) else None


def _is_rule(entry: OperatorEntry, found: Registration) -> bool:
    """Return whether a kernel is the operator's rule; see Note [Kernels under Meta that are shape rules]."""
    if found.level is Level.BACKEND and found.origin.is_plugin:
        return True  # Of its own operators, or under its own key: Note [Keys that are not a plugin's own] in `foreign`.
    is_fake, defined = bool(getattr(found.fn, "is_fake", False)), entry.origin
    if defined is None or (is_fake and defined.file == found.origin.file):
        return is_fake
    return defined.distribution == found.origin.distribution and (is_fake or bool(defined.distribution))


def find_stand_in_maker() -> Callable[[tuple[int, ...], tuple[int, ...], Dtype], Array] | None:
    """Return the function that makes an array without data of a shape, strides and a dtype; None without a meta device."""
    return next((known.empty for known in KEY_TYPES.get(DispatchKey.Meta, ()) if known.empty is not None), None)
