"""Checking and converting one value by a schema's type."""

from __future__ import annotations

import operator
from collections.abc import Callable
from numbers import Real
from typing import Any, Final

from dispatch_core.devices import Device
from dispatch_core.errors import ArgumentError

from .declared_dtypes import dtype_of_type, spoken_name, suggest_dtype
from .types import BaseType, DictType, ListType, OptionalType, TupleType, Type, TypeVariable, UnionType
from .words import in_words, spell_for_users

IsTensor = Callable[[object], bool]
Check = Callable[[object], object]

_SCALARS: Final = frozenset({int, float, bool, complex})
#: Integers have 64 bits, as in torch: a sign and 63 others, or, as a number of no argument's own kind, 64 without a sign.
_WORD: Final = 1 << 63
_LEAST: Final = -_WORD
_KINDS: Final[tuple[type[Any], ...]] = (int, float, complex)


def checker(type: Type, is_tensor: IsTensor, *, strict: bool = False) -> Check:
    """Return the function that checks a value of a type.

    It returns the value as the kernel gets it, and raises ``TypeError`` with nothing but the expectation ("must be int,
    not str") for one that does not fit. ``is_tensor`` decides which values pass for a ``Tensor``.
    The coercions are those of torch's Python argument parser: an int for a float, one int for ``int[2]``, NumPy's
    scalars for Python's; a bool is not an int. An object whose class has ``__schema_number__`` represents the number that
    this method returns, None for none, where a ``Scalar`` or a ``float`` is expected; a ``strict`` check refuses it.

    >>> check = checker(ListType(BaseType("int"), 2), lambda value: False)
    >>> check(3), check([1, 2])
    ((3, 3), [1, 2])
    """
    match type:
        case BaseType("Tensor"):
            return _require("Tensor", is_tensor)
        case BaseType(name):
            check = _CHECKS.get(name) or _opaque(type)
            return check if strict or name not in _LENT else _lenient(check)
        case OptionalType(element):
            return _optional(checker(element, is_tensor, strict=strict))
        case ListType():
            return _list(type, checker(type.element, is_tensor, strict=True))
        case TupleType(elements):
            return _tuple(type, [checker(element, is_tensor, strict=True) for element in elements])
        case DictType(key, value):
            return _dict(type, checker(key, is_tensor, strict=True), checker(value, is_tensor, strict=True))
        case UnionType(elements):
            return _union(type, [checker(element, is_tensor, strict=True) for element in elements])
        case TypeVariable():
            return _anything
    return _opaque(type)


def expectation(type: Type) -> str:
    """Spell a type, in the words of torch's messages.

    >>> expectation(OptionalType(ListType(BaseType("SymInt"))))
    'tuple of ints'
    """
    match type:
        case BaseType(name):
            return spell_for_users(name)
        case OptionalType(element):
            return expectation(element)
        case ListType(ListType() as element):
            return f"tuple of {expectation(element).replace('tuple', 'tuples', 1)}"
        case ListType(element):
            return f"tuple of {expectation(element)}s"
    return in_words(str(type))


def _lenient(check: Check) -> Check:
    """Make a check of numbers take objects that convert to one."""

    def check_number(value: object) -> object:
        try:
            return check(value)
        except TypeError:
            lent = getattr(value.__class__, "__schema_number__", None)
            number = None if lent is None else lent(value)
            if number is None:
                raise
        return check(number)

    return check_number


def _unfit(type: Type, value: object) -> TypeError:
    return TypeError(f"must be {expectation(type)}, not {value.__class__.__name__}")


def _anything(value: object) -> object:
    return value


def _int(value: object) -> object:
    if type(value) is int:
        return _within(value, "int", _WORD)
    # NumPy's bool has an index before 2.3, with a warning.
    if not isinstance(value, bool) and not isinstance(_numpy_item(value), bool):
        try:
            found = int(operator.index(value))  # type: ignore[arg-type]  # whether it has __index__ is the question
        except Exception:  # noqa: BLE001, S110  # it is the caller's, and may raise anything
            pass
        else:
            return _within(found, "int", _WORD)
    raise TypeError(f"must be int, not {type(value).__name__}")


class _RangeError(TypeError):
    """An integer of the right type is too large."""


def _within(number: int, name: str, beyond: int) -> int:
    """Return an integer of 64 bits; raises ``TypeError`` for one from ``beyond`` on, or below the least with a sign."""
    if _LEAST <= number < beyond:
        return number
    raise _RangeError(f"must be {name} within 64 bits, not an int of {number.bit_length()} bits")


class SymbolicNumber:
    """A number that another one replaces in each replay of a captured function; see `capture.live_numbers`."""

    def resolve(self) -> object:
        """Return the number as operators take it: itself, or an ordinary one."""
        raise NotImplementedError

    def resolve_float(self) -> object:
        """Return the number as operators take it that want a float."""
        raise NotImplementedError


def _float(value: object) -> object:
    if type(value) is float:
        return value
    if isinstance(value, SymbolicNumber):
        return value.resolve_float()
    # NumPy registers its floats and integers as Real; its bool is none. Python's is an int, which torch lets pass.
    if isinstance(value, Real):
        try:
            return float(value)
        except OverflowError:
            raise TypeError("must be float, not an int beyond its range") from None
        except Exception:  # noqa: BLE001, S110  # a number of the caller's own class may raise anything
            pass
    raise TypeError(f"must be float, not {type(value).__name__}")


def _bool(value: object) -> object:
    if isinstance(value, bool):
        return value
    plain = _numpy_item(value)
    if isinstance(plain, bool):
        return plain
    raise TypeError(f"must be bool, not {type(value).__name__}")


def _numpy_item(value: object) -> object:
    """Return the value of a NumPy scalar as a Python object; None for anything else, arrays included."""
    # By name, because the core does not import NumPy.
    if any(base.__name__ == "generic" and base.__module__ == "numpy" for base in type(value).__mro__):
        return value.item()  # type: ignore[attr-defined]  # numpy.generic has it
    return None


def _plain(value: object) -> object:
    """Return a number as one of Python's own, or None for any other object."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, SymbolicNumber):
        return value.resolve()
    # A NumPy scalar's own type would take part in promotion; some of them are subclasses of Python's numbers.
    plain = _numpy_item(value)
    if type(plain) in _SCALARS:
        return plain
    for kind in _KINDS:
        if isinstance(value, kind):
            try:
                number: object = kind(value)
            except Exception:  # noqa: BLE001  # the conversion is the caller's, and may raise anything
                return None
            return number
    return None


def _scalar(value: object) -> object:
    plain = _plain(value)
    if plain is None:
        raise TypeError(f"must be Number, not {type(value).__name__}")
    return _within(plain, "Number", 2 * _WORD) if type(plain) is int else plain


def _complex(value: object) -> object:
    plain = _plain(value)
    if plain is None or isinstance(plain, bool):
        raise TypeError(f"must be complex, not {type(value).__name__}")
    if type(plain) is int:
        plain = _within(plain, "complex", 2 * _WORD)
    return complex(plain)  # type: ignore[call-overload]  # one of the four types of _SCALARS


def _str(value: object) -> object:
    if not isinstance(value, str):
        raise TypeError(f"must be str, not {type(value).__name__}")
    return value


def _device(value: object) -> object:
    if isinstance(value, Device):
        return value
    if not isinstance(value, str):
        raise TypeError(f"must be Device, not {type(value).__name__}")
    try:
        return Device.parse(value)
    except ArgumentError:
        raise TypeError(f"must be Device such as 'cpu' or 'npu:1', not {value!r}") from None


def _is(value: object, name: str) -> bool:
    """Return whether a value's class says that it represents a type of the schema language."""
    return getattr(type(value), "__schema_type__", None) == name


def _dtype(value: object) -> object:
    if _is(value, "ScalarType"):
        return value
    found = dtype_of_type(value)
    if found is None:
        raise TypeError(f"must be {spoken_name()}, not {type(value).__name__}{suggest_dtype(value)}")
    return found


def _require(name: str, fits: Callable[[object], bool]) -> Check:
    """Return a check that lets values pass as they are where they fit."""

    def check(value: object) -> object:
        if not fits(value):
            raise TypeError(f"must be {name}, not {type(value).__name__}")
        return value

    return check


def _is_enum(value: object) -> bool:
    """Return whether a value is a member of an enum of ints, or its bare number."""
    return isinstance(value, int) and not isinstance(value, bool)


#: The types of which an object may represent a number.
_LENT: Final = frozenset({"float", "Scalar", "number"})
_CHECKS: Final[dict[str, Check]] = {
    "int": _int,
    "SymInt": _int,
    "DeviceIndex": _int,
    "ConstQuantizerPtr": _int,
    "float": _float,
    "bool": _bool,
    "SymBool": _bool,
    "str": _str,
    "complex": _complex,
    "Scalar": _scalar,
    "number": _scalar,
    "Device": _device,
    "Any": _anything,
    **dict.fromkeys(("None", "NoneType"), _require("None", lambda value: value is None)),
    "ScalarType": _dtype,
    "Generator": _require("Generator", lambda value: _is(value, "Generator")),
    "Layout": _require("Layout", lambda value: _is_enum(value) or _is(value, "Layout")),
    "MemoryFormat": _require("MemoryFormat", _is_enum),
}


def _opaque(type: Type) -> Check:
    """Check a type of which the core knows nothing: streams, custom classes."""

    def check(value: object) -> object:
        if value is None:
            raise _unfit(type, value)
        return value

    return check


def _optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _list(type: ListType, check: Check) -> Check:
    element = type.element
    expands = type.size is not None and isinstance(element, BaseType) and element.name != "Tensor"
    # Of ints a kernel may take another number, as in torch.
    is_fixed = expands and element == BaseType("bool")

    def check_list(value: object) -> object:
        if isinstance(value, list | tuple):
            checked = [_element(type, position, item, check) for position, item in enumerate(value)]
            if is_fixed and len(value) != type.size:
                raise TypeError(f"must be tuple of {type.size} bools, not of {len(value)}")
            return _same(value, checked)
        if expands:
            try:
                return (check(value),) * (type.size or 0)
            except TypeError:
                pass
        raise _unfit(type, value)

    return _try_ints(check_list) if check is _int else check_list


def _try_ints(check_list: Check) -> Check:
    """Return a check of a list that lets one of plain ints pass without a call for each."""

    def check_ints(value: object) -> object:
        if isinstance(value, (tuple, list)):
            for item in value:
                if type(item) is not int or not _LEAST <= item < _WORD:
                    break
            else:
                return value
        return check_list(value)

    return check_ints


def _element(type: Type, position: int, item: object, check: Check) -> object:
    try:
        return check(item)
    except TypeError as wrong:
        # A list inside a list is of the right type itself, as a large integer is: their own error names the fault.
        is_told = isinstance(item, list | tuple) or isinstance(wrong, _RangeError)
        inner = f": element {position} {wrong}" if is_told else ""
    found = inner or f", but found element of type {item.__class__.__name__} at pos {position}"
    raise TypeError(f"must be {expectation(type)}{found}")


def _same(value: list[object] | tuple[object, ...], checked: list[object]) -> object:
    """Return the caller's own list or tuple where checking changed nothing in it."""
    if all(map(operator.is_, value, checked)):
        return value
    return checked if isinstance(value, list) else tuple(checked)


def _tuple(type: TupleType, checks: list[Check]) -> Check:
    def check_tuple(value: object) -> object:
        if not isinstance(value, list | tuple) or len(value) != len(checks):
            raise _unfit(type, value)
        checked = [_element(type, position, item, checks[position]) for position, item in enumerate(value)]
        return _same(value, checked)

    return check_tuple


def _dict(type: DictType, check_key: Check, check_value: Check) -> Check:
    def check_dict(value: object) -> object:
        if not isinstance(value, dict):
            raise _unfit(type, value)
        checked: dict[object, object] = {}
        changed = False
        for key, item in value.items():
            try:
                checked_key, checked_item = check_key(key), check_value(item)
            except TypeError as wrong:
                reason = str(wrong)
            else:
                changed = changed or checked_key is not key or checked_item is not item
                checked[checked_key] = checked_item
                continue
            raise TypeError(f"must be {expectation(type)}: at key {key!r}, it {reason}")
        return checked if changed else value

    return check_dict


def _union(type: UnionType, checks: list[Check]) -> Check:
    def check_union(value: object) -> object:
        for check in checks:
            try:
                return check(value)
            except TypeError:
                continue
        raise _unfit(type, value)

    return check_union
