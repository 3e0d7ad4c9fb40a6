"""torch's functions and methods, made from the operator library's table and a few exceptions to it.

An operator ``aten::name`` becomes ``torchlike.name``, ``Tensor.name``, or one of another namespace where torch has it there.
Python's names for arguments (``input``, ``axis``) are mapped to the schema's, and
sizes may be written one by one where torch allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import QUANTIZED, ScalarType
from dispatch_core.caches import LazyTable

from ..creation.factories import FACTORIES, tensor
from ..names import operator_table as table
from ..names.spelling import spell
from ..overriding.handling import PLAIN, Override, overrides_any
from ..overriding.wrapping import make_overridable
from ..signatures.descriptions import describe
from ..signatures.overload_choice import (
    BINARY,
    BINARY_OVERLOADS,
    find_main,
    find_with_out,
    requires_more,
    takes_tensor_alone,
)
from ..tensors.arguments import to_python_number
from ..tensors.tensor import Tensor
from ..values.dtypes import result_type
from . import number_arguments  # noqa: F401  # it answers calls that are refused
from .adapted_functions import ADAPTED, METHOD_FORMS
from .general_functions import general_function
from .older_calls import OLDER, SCALED, warn_of_older_call


def _make_direct(operator: table.OverloadGroup, overload: Any, override: Override) -> Callable[..., Any]:
    """Make a function that is an overload itself for calls that it takes as they stand; others are looked at."""
    find_general = partial(general_function, operator)
    positional = [(each.name, each.default if each.has_default else _MISSING) for each in overload.schema.positional]
    defaults = {each.name: each.default for each in overload.schema.keyword_only if each.has_default}
    star = positional.pop()[0] if operator.name in table.WITH_SIZES else ""
    packet = getattr(dc.ops.aten, operator.name)

    def slow_path(*args: Any, **kwargs: Any) -> Any:
        if star and not kwargs and len(args) == 2 and type(args[1]) is ScalarType and "dtype" in packet.overloads():
            return packet.dtype(*args)
        given = {name: value for name, value in kwargs.items() if value is not defaults.get(name, _MISSING)}
        if len(args) > len(positional):
            return find_general()(*args, **given)
        left_out = [value is _MISSING or value is default for value, (_, default) in zip(args, positional, strict=True)]
        count = left_out.index(True) if True in left_out else len(args)
        for value, (name, _), is_left_out in list(zip(args, positional, left_out, strict=True))[count:]:
            if not is_left_out:
                given[name] = value
        return find_general()(*args[:count], **given)

    first = positional[0][0]
    others = [getattr(packet, name) for name in packet.overloads()] if requires_more(overload) and not star else []
    return dc.rename_arguments(
        overload,
        operator.name,
        Tensor,
        slow_path,
        names={"self": "input", **_NAMES.get(operator.name, {})} if first == "self" else {},
        missing=_MISSING,
        star=star,
        alone=next(filter(takes_tensor_alone, others), None),
        with_out=None if star else find_with_out(overload),
        override=override.hook,
        overrides=overrides_any,
        plain_types=PLAIN,
    )


def _make_unary(operator: table.OverloadGroup, override: Override) -> Callable[..., Any]:
    """Make a function of one tensor that is the overload itself, but for the argument's name and ``out``."""
    overload = getattr(dc.ops.aten, operator.name).default
    find_general = partial(general_function, operator)

    def slow_path(input: Any, *, out: Any = None) -> Any:
        return overload(input) if out is None else find_general()(input, out=out)

    extra = {"out": None} if len(operator.schemas) > 1 else {}
    with_out = find_with_out(overload) if extra else None
    return dc.rename_arguments(
        overload,
        operator.name,
        Tensor,
        slow_path,
        names={"self": "input"},
        extra=extra,
        with_out=with_out,
        override=override.hook,
        overrides=overrides_any,
        plain_types=PLAIN,
    )


def _make_binary(operator: table.OverloadGroup, override: Override) -> Callable[..., Any]:
    """Make a function that is the overload for two tensors itself, but for the arguments' names and ``out``.

    A tensor and a plain number go to their overload directly, and anything else to the packet.
    """
    packet = getattr(dc.ops.aten, operator.name)
    overloads = {name: getattr(packet, name) for name in packet.overloads()}
    tensors, numbers = BINARY_OVERLOADS[operator.name]
    find_general, number_first = partial(general_function, operator), NUMBER_FIRST.get(operator.name)
    own = {argument.name: argument.default for argument in tensors.schema.keyword_only}
    defaults = {
        **{each.name: None for overload in overloads.values() for each in overload.schema.keyword_only},
        **own,
    }

    def slow_path(input: Any, other: Any, *more: Any, **given: Any) -> Any:
        if not more and type(other) in PLAIN_NUMBERS and isinstance(input, Tensor):
            for name, value in given.items():
                if value is not defaults.get(name, _MISSING):
                    break
            else:
                return numbers(input, other)
        given = {name: value for name, value in given.items() if value is not defaults.get(name, _MISSING)}
        if more:
            if len(more) == 1 and operator.name == "subtract" and isinstance(other, _NUMBERS):
                return function(input, other, alpha=more[0], **given)
            if len(more) > 1 or not isinstance(other, _NUMBERS) or "alpha" in given:
                count = 2 + len(more)
                raise dc.ArgumentError(f"{operator.name}() takes 2 positional arguments but {count} were given")
            warn_of_older_call(operator.name)
            return function(input, *more, alpha=other, **given)
        if operator.name in _OF_NUMBERS and isinstance(input, _NUMBERS) and isinstance(other, _NUMBERS):
            input, other = tensor(input), tensor(other)
        if not given:
            if type(other) in PLAIN_NUMBERS and isinstance(input, Tensor):
                return numbers(input, other)
            if number_first is not None and isinstance(input, _NUMBERS) and isinstance(other, Tensor):
                return number_first(to_python_number(input), other)
            return packet(to_python_number(input), to_python_number(other))
        if isinstance(input, _NUMBERS) and isinstance(other, Tensor):
            input = _make_like(to_python_number(input), other)
        elif "out" in given and isinstance(other, _NUMBERS) and isinstance(input, Tensor) and not number_out:
            number = to_python_number(other)
            # A quotient is one of floats, also of an integer that the tensor's dtype cannot hold.
            divided = operator.name in _QUOTIENTS and given.get("rounding_mode") is None and type(number) is int
            other = _make_like(float(number) if divided else number, input)
        return find_general()(input, to_python_number(other), **given)

    def read_names(input: Any, other: Any, *more: Any, **given: Any) -> Any:
        """Call ``slow_path`` with the names that a call gives, ``self`` among them, which torch has for a number."""
        if not given and other is not _MISSING and input is not _MISSING:
            return slow_path(input, other, *more)
        if input is _MISSING:
            input = given.pop("self", _MISSING)
        if input is _MISSING or other is _MISSING:
            raise TypeError(f"{operator.name}() takes 2 arguments, of which one is missing")
        if unknown := given.keys() - defaults.keys():
            raise TypeError(f"{operator.name}() got an unexpected keyword argument '{min(unknown)}'")
        return slow_path(input, other, *more, **given)

    number_out = any(name.endswith("Scalar_out") for name in overloads)
    extra = {name: default for name, default in defaults.items() if name not in own}
    names = {"self": "input"}
    has_out = "out" in extra
    # CPython itself refuses a name that is none of the function's, so that of a number costs the others a dictionary.
    is_named = any(str(overload.schema.arguments[0].type) == "Scalar" for overload in overloads.values())
    # fmt: off
    function = dc.rename_arguments(
        tensors, operator.name, Tensor, read_names if is_named else slow_path, names=names,
        extra={} if is_named else extra, slow_path_types=PLAIN_NUMBERS, takes_more=operator.name in SCALED,
        missing=_MISSING if is_named else None, with_out=find_with_out(tensors) if has_out else None,
        override=override.hook, overrides=overrides_any, plain_types=PLAIN, numbers=numbers,
    )
    # fmt: on
    return function


#: Further arguments whose name in torch is not the schema's.
_NAMES: Final = {"copy_": {"src": "other"}}
_MISSING: Final = object()
_QUOTIENTS: Final = ("div", "divide", "true_divide")
#: Functions that torch lets compute with two numbers.
_OF_NUMBERS: Final = frozenset("add div divide floor_divide mul multiply sub subtract true_divide".split())


def _make_like(number: Any, self: Tensor) -> Tensor:
    """Make a tensor of a number in the dtype that the number and ``self`` promote to; an integer beyond it wraps around."""
    found: Tensor = tensor(number, device=self.device)
    is_kept = isinstance(number, bool) or self.dtype in QUANTIZED
    return found if is_kept else found.to(result_type(self, number))


#: The types of numbers that need no second look.
PLAIN_NUMBERS: Final = frozenset({int, float})
_NUMBERS: Final = (bool, int, float, complex, np.generic)

#: Operators on a number and a tensor, by those of a tensor and a number, where no overload takes the number first.
NUMBER_FIRST: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": lambda number, self: FUNCTIONS["add"](self, number),
    "bitwise_and": lambda number, self: FUNCTIONS["bitwise_and"](self, number),
    "bitwise_or": lambda number, self: FUNCTIONS["bitwise_or"](self, number),
    "bitwise_xor": lambda number, self: FUNCTIONS["bitwise_xor"](self, number),
    "floor_divide": lambda number, self: FUNCTIONS["floor_divide"](_make_like(number, self), self),
    **dict.fromkeys(("mul", "multiply"), lambda number, self: FUNCTIONS["mul"](self, number)),
    **dict.fromkeys(("sub", "subtract"), lambda number, self: dc.ops.aten.rsub.Scalar(self, number)),
    **dict.fromkeys(_QUOTIENTS, lambda number, self: FUNCTIONS["reciprocal"](self) * number),
}


def _make(operator: table.OverloadGroup) -> Callable[..., Any]:
    override = Override()
    if operator.name in BINARY:
        function = _make_binary(operator, override)
    elif operator.unary and operator.first == "self":
        function = _make_unary(operator, override)
    elif (main := find_main(operator)) is not None:
        function = _make_direct(operator, main, override)
    else:
        function = make_overridable(general_function(operator))
    override.public = function
    function.__name__ = function.__qualname__ = operator.name
    function.__module__ = spell()
    describe(function, operator.name)
    return function


def _is_visible(name: str) -> bool:
    return not (
        name in table.HIDDEN or name in FACTORIES or name.endswith(("_backward", "_backward_data", "_forward", "__"))
    )


_VISIBLE: Final = {name: operator for name, operator in table.OPERATORS.items() if _is_visible(name)}


def _make_plain(name: str) -> Callable[..., Any]:
    function = _make(_VISIBLE[name])
    if name in FUNCTIONAL:
        function.__module__ = spell("torchlike.nn.functional")
    for prefix, namespace in table.PREFIXES.items():
        if name.startswith(prefix):
            function.__name__ = function.__qualname__ = name.removeprefix(prefix)
            function.__module__ = spell(f"torchlike.{namespace}")
    return function


def _find_inner(name: str) -> Callable[..., Any]:
    """Return the function of an operator for one around it, which has asked for overrides."""
    operator = _VISIBLE[name]
    is_general = (
        name not in BINARY and not (operator.unary and operator.first == "self") and find_main(operator) is None
    )
    return general_function(operator) if is_general else _PLAIN[name]


def _make_function(name: str) -> Callable[..., Any]:
    adapt = ADAPTED.get(name) or OLDER.get(name)
    if adapt is None:
        return _PLAIN[name]
    function = make_overridable(adapt(_find_inner(name)), "torch", name)
    function.__name__, function.__qualname__, function.__module__ = name, name, spell()
    describe(function, name)
    return function


def _make_method(name: str) -> Callable[..., Any]:
    if name in METHOD_FORMS:
        method = make_overridable(METHOD_FORMS[name](FUNCTIONS[name]), "Tensor", name)
        method.__name__, method.__qualname__, method.__module__ = name, f"Tensor.{name}", spell()
        describe(method, name, "method")
        return method
    if name in OLDER and name not in FUNCTIONS:
        method = make_overridable(OLDER[name](_find_inner(name)), "Tensor", name)
        method.__name__, method.__qualname__, method.__module__ = name, name, spell()
        describe(method, name)
        return method
    if name not in FUNCTIONS:
        return _PLAIN[name]
    # Of one code, but not the function itself: handlers of overrides tell one from the other.
    adapt = ADAPTED.get(name) or OLDER.get(name)
    method = _make(_VISIBLE[name]) if adapt is None else make_overridable(adapt(_find_inner(name)), "Tensor", name)
    method.__name__, method.__qualname__, method.__module__ = name, f"Tensor.{name}", spell()
    describe(method, name)
    return method


def _make_quick(name: str) -> Callable[..., Any]:
    operator = _VISIBLE[name]
    if name in BINARY or (operator.unary and operator.first == "self"):
        return _PLAIN[name]
    raise KeyError(name)


def _namespace(prefix: str) -> LazyTable[Callable[..., Any]]:
    names = [name.removeprefix(prefix) for name in _VISIBLE if name.startswith(prefix)]
    return LazyTable(lambda name: _PLAIN[prefix + name], names)


#: Each of these functions is made when it is first looked up, and one object in all tables.
_PLAIN: Final[LazyTable[Callable[..., Any]]] = LazyTable(_make_plain, _VISIBLE)
FUNCTIONS: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    _make_function, {name: operator for name, operator in _VISIBLE.items() if operator.is_function}
)
METHODS: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    _make_method, {name: operator for name, operator in _VISIBLE.items() if operator.is_method} | METHOD_FORMS
)
#: Operators that are neither, for ``nn.functional``.
FUNCTIONAL: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    _PLAIN.__getitem__, {name: None for name in _VISIBLE if name not in FUNCTIONS and name not in METHODS}
)
#: Those of ``linalg``, ``fft`` and ``special``.
NAMESPACES: Final = {namespace: _namespace(prefix) for prefix, namespace in table.PREFIXES.items()}
#: The functions that go straight to an overload, for code that is generated.
QUICK: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    _make_quick, lambda: [name for name in _VISIBLE if name in QUICK]
)
