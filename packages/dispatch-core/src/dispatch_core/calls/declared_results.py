"""Results held against the schema: their types, and the memory that they share with arguments.

Note [Memory by the schema]
    A result ``Tensor(a)`` lies in the memory of its argument, and a result ``Tensor(a!)`` is its argument: a copy in its
    place loses every later write. That can be seen of arrays that tell their storage and strides and can be written to.
    Of others a result that takes an argument's place has that one's shape. An operator with the tag ``may_copy`` returns
    a copy where a view cannot be made, as ``reshape`` does; one with the tag ``inplace_view`` changes its argument's shape,
    and an argument that is given by keyword alone (``out``) may be made larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ..arrays.access import shape, storage_of, to_data
from ..arrays.frontend import frontend_of
from ..arrays.owners import ARRAY_TYPES, TYPE_MASKS, is_tensor
from ..devices import Device
from ..errors import KernelResultError
from ..keys.table import ARRAYS
from ..schema.check import checker
from ..schema.types import BaseType, ListType, OptionalType, TupleType, Type
from .signature import CallSignature, Result, bad_count, bad_list

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


def _compare_memory(item: object, argument: object, *, is_view: bool) -> str:
    """Return the reason why a result is neither its argument nor a view of it, or ""; the name is left to be filled in."""
    one, other = to_data(item), to_data(argument)
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
