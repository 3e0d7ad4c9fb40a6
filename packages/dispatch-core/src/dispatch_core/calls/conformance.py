"""Results held against the operator's shape rule, its kernel under Meta, and against its schema: types, and shared memory.

When results are compared is said in Note [When results are compared] in `result_watch`.

Note [Kernels under Meta that are shape rules]
    A kernel under Meta is the operator's shape rule where the package that defines the operator registered it, or the
    plugin of the device meta. A program's own operators have a rule where the program registered a fake: a kernel that it
    registers by ``impl`` under Meta is a kernel like any other. Those that are no rules are called where a call arrives at
    Meta, where a pipeline records one, and by ``opcheck``; beside a kernel for another key never, unless
    ``DISPATCH_CHECK_RESULTS`` asks for it.

Note [Memory by the schema]
    A result ``Tensor(a)`` lies in the memory of its argument, and a result ``Tensor(a!)`` is its argument: a copy in its
    place loses every later write. That can be seen of arrays that tell their storage and strides and can be written to.
    Of others a result that takes an argument's place has that one's shape. An operator with the tag ``may_copy`` returns
    a copy where a view cannot be made, as ``reshape`` does; one with the tag ``inplace_view`` changes its argument's shape,
    and an argument that is given by keyword alone (``out``) may be made larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..arrays.access import check_answers, dtype, shape, sizes_of, storage_of, strides, to_data
from ..arrays.frontend import frontend_of
from ..arrays.layouts import components_of
from ..arrays.owners import ARRAY_TYPES, KEY_TYPES, TYPE_MASKS, is_tensor
from ..bookkeeping.levels import Level
from ..devices import Device
from ..errors import KernelResultError
from ..keys.table import ARRAYS, DispatchKey
from ..schema.check import checker
from ..schema.types import BaseType, ListType, OptionalType, TupleType, Type
from ..surroundings.environment import Switch
from .signature import CallSignature, Result, bad_count, bad_list

if TYPE_CHECKING:
    from ..arrays.types import Array, Dtype
    from ..operators.entry import OperatorEntry
    from ..operators.registration import Registration


#: The property in which an array differs from the expected one, its value, and the expected value.
Difference: TypeAlias = tuple[str, object, object]
#: Whether results are always compared; see Note [When results are compared] in `result_watch`.
ALWAYS: Final = Switch("DISPATCH_CHECK_RESULTS")
_INT: Final = {int}


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
    if type(array) in ARRAY_TYPES:
        if _is_the_same(array, sizes, steps, kind):
            return None
        check_answers(array, kind)
    elif not is_tensor(array):
        return "type", f"{type(array).__module__}.{type(array).__qualname__}", "an array"
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


def _is_the_same(array: Array, sizes: tuple[int | None, ...], steps: tuple[int, ...] | None, kind: Dtype) -> bool:
    """Return whether an array is like the expected one in every answer, which are of use then: most are."""
    found = sizes_of(array)
    return found == sizes and {*map(type, found)} <= _INT and strides(array) == steps and dtype(array) == kind


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


# Against the schema.

Check = Callable[[object], object]
#: The tags of operators whose results may lie elsewhere than their schemas say, or have another shape.
MAY_COPY: Final = "may_copy"
_CHANGES_SHAPE: Final = "inplace_view"
_NUMBERS: Final = frozenset({"Scalar", "SymInt", "bool", "float", "int"})
_TYPE_HINT: Final = "return a value of the type that the schema says, or change the schema"
_VIEW_HINT: Final = (
    f"return an array that shares the argument's memory; an operator that may copy has the tag {MAY_COPY}, and one that"
    " always copies a schema without the alias"
)
_WRITTEN_HINT: Final = "write into the argument, and return it"


def plain_checks(signature: CallSignature) -> list[Check | None]:
    """Return for each result that carries no tensors a check that raises ``TypeError``; None for the others."""
    return [
        _make_check(item.type) if result.kind == "other" else None
        for result, item in zip(signature.results, signature.schema.returns, strict=False)
    ]


def check_plain(check: Check | None, value: object) -> str:
    """Return how a result that carries no tensors differs from its type, or ""."""
    try:
        if check is not None:
            check(value)
    except TypeError as error:
        return str(error)
    return ""


def plain_error(signature: CallSignature, index: int, fault: str, who: str) -> KernelResultError:
    """Return the error for a result of another type; ``who`` tells whose it is."""
    kind = str(signature.schema.returns[index].type)
    hint = "return a Python number, and no scalar or array of the backend's" if kind in _NUMBERS else _TYPE_HINT
    return KernelResultError(f"{signature.name}: result {index} {fault}\n{who}", hint=hint)


def memory_error(signature: CallSignature, index: int, fault: str, who: str) -> KernelResultError:
    """Return the error for a result that lies elsewhere than the schema says; ``who`` tells whose it is."""
    result = signature.results[index]
    promised, hint = ("a view of it", _VIEW_HINT) if result.kind == "view" else ("the argument itself", _WRITTEN_HINT)
    text = f"{signature.name}: result {index} {fault}, where the schema promises {promised}: {signature.schema}"
    return KernelResultError(f"{text}\n{who}", hint=hint)


def has_fixed_results(signature: CallSignature) -> bool:
    """Return whether the schema fixes the arguments and results of a call."""
    return not signature.schema.is_vararg and not signature.schema.is_varret


def check_results(
    signature: CallSignature,
    tags: frozenset[str],
    returned: object,
    values: Sequence[Any],
    who: Callable[[], str],
    *,
    has_plain: bool,
) -> None:
    """Raise ``KernelResultError`` where a call's results, as its caller gets them, differ from the schema.

    Without ``has_plain`` those that carry no tensors may have any type.
    """
    check_types(signature, returned, values, who, has_plain=has_plain)
    results = returned if len(signature.results) > 1 else (returned,)
    if not isinstance(results, tuple | list):
        return
    strange = find_strange_memory(signature, tags, results, values, is_written=True)
    if strange is not None:
        raise memory_error(signature, *strange, who())


def check_types(
    signature: CallSignature,
    returned: object,
    values: Sequence[Any],
    who: Callable[[], str],
    *,
    has_plain: bool = False,
) -> None:
    """Raise ``KernelResultError`` where results are no tensors, or not as many, as the schema promises."""
    # A caller with a frontend's tensors gets such; `is_tensor` is true of arrays, too.
    is_wrapped = any(frontend_of(tensor) is not None for _, tensor in signature.tensors(values))
    found = signature.unpack(returned, who)
    if has_plain and not found and returned is not None:
        raise bad_count(signature.name, 0, returned, who())
    for index, (result, value, check) in enumerate(zip(signature.results, found, plain_checks(signature), strict=True)):
        if result.kind == "other":
            if has_plain and (fault := check_plain(check, value)):
                raise plain_error(signature, index, fault, who())
        elif result.is_list and not isinstance(value, list | tuple):
            raise bad_list(signature.name, value, who())
        elif not signature.leaves_out(index, values):
            for item in value if result.is_list else (value,):
                if item is None and result.is_optional:
                    continue
                if not is_tensor(item) or (is_wrapped and type(item) in ARRAY_TYPES):
                    raise plain_error(signature, index, f"must be Tensor, not {type(item).__name__}", who())


def _make_check(type: Type) -> Check:
    """Return a check of a result: as of an argument, but without any conversion."""
    match type:
        case OptionalType(element):
            inner = _make_check(element)
            return lambda value: None if value is None else inner(value)
        case ListType(element):
            return _check_elements(type, lambda value: [_make_check(element)] * len(value))
        case TupleType(elements):
            checks = [_make_check(element) for element in elements]
            return _check_elements(type, lambda value: checks)
        case BaseType("Device"):
            return _require("Device", lambda value: isinstance(value, Device))
        case BaseType("ScalarType"):
            return _require("ScalarType", lambda value: getattr(value, "__schema_type__", "") == "ScalarType")
    return checker(type, is_tensor, strict=True)


def _require(name: str, fits: Callable[[object], bool]) -> Check:
    def check(value: object) -> object:
        if not fits(value):
            raise TypeError(f"must be {name}, not {value.__class__.__name__}")
        return value

    return check


def _check_elements(type: Type, find: Callable[[Sequence[object]], list[Check]]) -> Check:
    whole = checker(type, is_tensor)

    def check(value: object) -> object:
        if not isinstance(value, list | tuple):
            raise TypeError(f"must be {type}, not {value.__class__.__name__}")
        whole(value)
        for each, item in zip(find(value), value, strict=True):
            each(item)
        return value

    return check


def together(value: object, *others: object, is_list: bool) -> Iterator[tuple[Any, ...]]:
    """Yield a result with its own value; of a list, each element, with its own or with one value for all."""
    if not is_list:
        yield (value, *others)
    elif isinstance(value, list | tuple):
        each = [other if isinstance(other, list | tuple) else (other,) * len(value) for other in others]
        yield from zip(value, *each, strict=False)


def find_strange_memory(
    signature: CallSignature, tags: frozenset[str], found: Sequence[Any], values: Sequence[Any], *, is_written: bool
) -> tuple[int, str] | None:
    """Return the first result that lies elsewhere than the schema says, with the reason; or None.

    ``is_written`` says that an in-place call must return the very argument, as callers see it, not only its memory.
    See Note [Memory by the schema].
    """
    for index, (result, value) in enumerate(zip(signature.results, found, strict=False)):
        if not _says_memory(signature, result, tags):
            continue
        name = signature.parameters[result.source].name
        for item, argument in together(value, values[result.source], is_list=result.is_list):
            if item is None or argument is None or item is argument:
                continue
            if result.kind == "self" and is_written:
                return index, f"is not argument {name!r} itself"
            fault = _compare_memory(item, argument, is_view=result.kind == "view")
            if fault:
                return index, fault.format(name=name)
    return None


def _says_memory(signature: CallSignature, result: Result, tags: frozenset[str]) -> bool:
    if result.kind == "view":
        return MAY_COPY not in tags
    if result.kind != "self":
        return False
    return _CHANGES_SHAPE not in tags and not signature.parameters[result.source].keyword_only


def _compare_storage(item: object, argument: object) -> bool:
    """Return whether a component of a record may lie in the memory of another one's."""
    one, other = to_data(item), to_data(argument)
    known = ARRAY_TYPES.get(type(one))
    if known is None or not (known.mutable and known.strides is not None and known.storage is not None):
        return True
    # A pending array and one that is there may share memory, and say so.
    is_alike = TYPE_MASKS[type(one)] & TYPE_MASKS.get(type(other), 0) & ARRAYS
    return 0 in known.shape(one) or not is_alike or storage_of(one) == storage_of(other)


def _compare_memory(item: object, argument: object, *, is_view: bool) -> str:
    """Return the reason why a result is neither its argument nor a view of it, or ""; the name is left to be filled in."""
    one, other = to_data(item), to_data(argument)
    if (parts := components_of(one)) or (is_view and components_of(other)):
        others = components_of(other)
        shares = not (is_view and others) or any(_compare_storage(a, b) for a in parts or [item] for b in others)
        return "" if shares else "does not share the memory of argument {name!r}"
    known = ARRAY_TYPES.get(type(one))
    # A pending array may be a view of one that is there.
    if one is other or known is None or not TYPE_MASKS[type(one)] & TYPE_MASKS.get(type(other), 0) & ARRAYS:
        return ""
    if not known.is_described:
        return ""
    sizes, theirs = known.shape(one), shape(other)
    is_laid_out = known.mutable and known.strides is not None
    # Arrays without elements share nothing.
    is_empty = any(size in (0, None) for size in (*sizes, *theirs))
    if is_laid_out and known.storage is not None and not is_empty and storage_of(one) != storage_of(other):
        return "does not share the memory of argument {name!r}"
    if not is_view and sizes != theirs:
        return f"has shape {sizes}, where argument {{name!r}} has {theirs}"
    return ""
