"""torch's functions and methods, made from the operator library's table and a few exceptions to it.

An operator ``aten::name`` becomes ``torchlike.name``, ``Tensor.name``, or one of another namespace where torch has it there.
Python's names for arguments (``input``, ``axis``) are mapped to the schema's, and
sizes may be written one by one where torch allows it.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_core.caches import LazyTable
from dispatch_core.tracebacks import trim_traceback

from . import dtypes
from . import operator_table as table
from .adapted_functions import ADAPTED, METHOD_FORMS
from .arguments import replace_none, to_python_number
from .creation import FACTORIES, tensor, wrap_result
from .devices import as_device
from .dtypes import result_type
from .older_calls import OLDER, SCALED, warn_of_older_call
from .tensors import Tensor

#: Methods whose sizes may be written one by one: ``t.view(2, 3)``.
_SIZES: Final = frozenset(
    "expand flip new_empty new_ones new_zeros permute repeat reshape resize_ sum_to_size tile view".split()
)
#: NumPy's names for arguments, which torch takes too.
_ALIASES: Final = {"axis": "dim", "keepdims": "keepdim", "x2": "other"}
#: The names of the first tensor: torch's, and NumPy's.
_FIRST: Final = ("input", "a", "x", "x1")


_WRITTEN: Final = re.compile(r"Tensor\([a-z]!\) (\w+)(?=[,)])")


def _make_result_class(name: str, fields: tuple[str, ...]) -> Callable[..., Any]:
    """Make the class of an operator's named results, printed as torch prints it."""
    base: Any = namedtuple(name, fields)  # type: ignore[misc]  # noqa: PYI024  # known at run time only

    def text(self: Any) -> str:
        inner = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"{dtypes.TYPE_PREFIX}return_types.{name}(\n{inner})"

    return type(name, (base,), {"__slots__": (), "__repr__": text, "__module__": "torchlike.return_types"})


def _pack_sizes(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Gather sizes that are written one by one: ``(t, 2, 3)`` to ``(t, (2, 3))``."""
    if len(args) > 1 and (len(args) > 2 or isinstance(args[1], (int, Tensor, np.integer))):
        return (args[0], args[1:])
    return args


def _make_empty_on(template: Tensor, device: dc.Device) -> Tensor:
    """Make a tensor of the same layout and dtype on another device, with uninitialized data."""
    made = dc.ops.aten.empty_strided.default(template.shape, template.stride(), dtype=template.dtype, device=device)
    return wrap_result(made, False)


def _make_general(operator: table.OverloadGroup) -> Callable[..., Any]:
    """Make a function that binds its arguments as torch does and leaves the choice of overload to the dispatcher."""
    name = operator.name
    sizes = name in _SIZES
    results = None if operator.names is None else _make_result_class(name, operator.names)
    packet = getattr(dc.ops.aten, name)
    overloads = [getattr(packet, each) for each in packet.overloads()]
    # The overloads of a call without keywords on a tensor alone, or on a tensor and sizes; no other is looked for.
    alone = next(filter(_takes_tensor_alone, overloads), packet)
    sized = next(filter(_takes_sizes, overloads), None) if sizes else None
    own_keywords, read_keywords = _make_keyword_reader(operator)
    empty = {
        argument.name: place
        for overload in overloads
        for place, argument in enumerate(overload.schema.arguments)
        if argument.has_default and argument.default in ([], ())
    }

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            requires_grad = False
            if not kwargs:
                if len(args) == 1 and results is None:
                    return alone(*args)
                if sized is not None:
                    given = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
                    if {*map(type, given)} == _ONLY_INT:
                        return sized(args[0], given)
            elif not own_keywords.isdisjoint(kwargs):
                args, requires_grad = read_keywords(args, kwargs)
            if sizes:
                args = _pack_sizes(name, args)
            try:
                found = packet(*args, **kwargs)
            except dc.DispatchError:
                changed = replace_none(empty, args, kwargs)
                if changed is None:
                    raise
                found = packet(*changed[0], **changed[1])
            if requires_grad:
                return wrap_result(found, requires_grad)
            return results(*found) if results is not None and type(found) is tuple else found
        except Exception as error:
            trim_traceback(error)
            raise

    return function


def _make_later(operator: table.OverloadGroup) -> Callable[[], Callable[..., Any]]:
    """Return a function that returns the general function of an operator, made when a call first needs it."""
    return cache(partial(_make_general, operator))


def _make_keyword_reader(operator: table.OverloadGroup) -> tuple[frozenset[str], Callable[..., Any]]:
    """Return the keywords that torch takes beside the schema's, and the function that replaces them.

    The function changes the keywords in place, and returns the arguments and whether the result is to require grad.
    """
    taken = " ".join(operator.schemas)
    aliases = {alias: real for alias, real in _ALIASES.items() if f" {alias}" not in taken and f" {real}" in taken}
    lists = (_WRITTEN.findall(schema.partition(" -> ")[0]) for schema in operator.schemas)
    written = next((found for found in lists if len(found) > 1), [])
    has_input, like = operator.first == "self", operator.is_like
    first = tuple(name for name in _FIRST if f" {name}" not in taken)
    later_input = not has_input and " self" in taken
    keywords = (
        {*aliases, "out"}
        | ({*first} if has_input or later_input else set())
        | ({"device", "layout", "requires_grad"} if like else set())
    )

    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], bool]:
        requires_grad = False
        name = next((each for each in first if each in kwargs), None) if later_input or not args else None
        if name is not None and has_input:
            args = (kwargs.pop(name),)
        elif name is not None and later_input:
            kwargs["self"] = kwargs.pop(name)
        for alias, real in aliases.items():
            if alias in kwargs:
                kwargs[real] = kwargs.pop(alias)
        if like:
            requires_grad = kwargs.pop("requires_grad", False)
            kwargs.pop("layout", None)  # there is one
            device = as_device(kwargs.pop("device", None))
            if device is not None and args and isinstance(args[0], Tensor) and device != args[0].device:
                args = (_make_empty_on(args[0], device), *args[1:])
        if "out" in kwargs:
            out = kwargs.pop("out")
            if isinstance(out, (list, tuple)):
                if len(out) != len(written):
                    wanted = f"tuple of {len(written)} Tensors" if written else "Tensor"
                    name = type(out).__name__
                    raise TypeError(f"{operator.name}(): argument 'out' must be {wanted}, not {name} of {len(out)}")
                kwargs.update(zip(written, out, strict=True))
            elif out is not None:
                kwargs["out"] = out
        return args, requires_grad

    return frozenset(keywords), read


_ONLY_INT: Final = {int}


def _takes_tensor_alone(overload: Any) -> bool:
    first, *rest = overload.schema.arguments
    return str(first.type) in ("Tensor", "Tensor(a)") and all(argument.has_default for argument in rest)


def _takes_sizes(overload: Any) -> bool:
    arguments = overload.schema.positional
    return len(arguments) > 1 and str(arguments[1].type) in ("SymInt[]", "int[]")


#: The overload of an operator with several that stands for the function, where its plain calls fit no other one.
_MAIN: Final = {
    "copy_": "default",
    "fill_": "Scalar",
    "masked_fill_": "Scalar",
    "movedim": "int",
    "narrow": "default",
    "roll": "default",
    "split": "Tensor",
    "squeeze": "dim",
    "tensor_split": "sections",
    "transpose_": "default",
    "unsafe_split": "Tensor",
    "unsqueeze_": "default",
    "view": "default",
}


def _find_main(operator: table.OverloadGroup) -> Any:
    """Return the overload that is the function itself, or None where each call has to be looked at."""
    packet = getattr(dc.ops.aten, operator.name)
    listed = {name: getattr(packet, name) for name in packet.overloads() if not name.endswith("out")}
    name = _MAIN.get(operator.name) or _find_first(listed)
    if name is None or operator.is_like or operator.names is not None:
        return None
    overload = listed[name]
    positional = overload.schema.positional
    if overload.schema.is_vararg or not positional or not str(positional[0].type).startswith("Tensor"):
        return None
    return overload


def _find_first(overloads: dict[str, Any]) -> str | None:
    """Return the name of the overload that its plain calls mean, whatever the others take; None where they may take them.

    It is the first, or the one that requires more than a tensor where the first takes nothing else, or the one that takes
    a number where the first takes a tensor.
    """
    names = list(overloads)
    if len(names) > 1 and len(overloads[names[0]].schema.positional) == 1:
        names = [*names[1:], names[0]] if _requires_more(overloads[names[1]]) else names
    first, *others = names
    main = next((each for each in others if _takes_number_for_tensor(overloads[each], overloads[first])), first)
    own = overloads[main].schema
    _, *behind = own.arguments
    if any(argument.is_write or (argument.has_default and argument.default in ([], ())) for argument in behind):
        return None
    return None if any(_stands_later(own, each.schema) for each in overloads.values()) else main


def _takes_number_for_tensor(overload: Any, other: Any) -> bool:
    """Return whether two overloads take the same arguments, and ``overload`` none but numbers where they differ."""
    own, theirs = overload.schema.positional, other.schema.positional
    if [each.name for each in own] != [each.name for each in theirs]:
        return False
    differing = [(one, two) for one, two in zip(own, theirs, strict=True) if one.type != two.type]
    return bool(differing) and all(
        one.name not in ("self", "other") and "Tensor" not in str(one.type) and str(two.type) == "Tensor"
        for one, two in differing
    )


def _stands_later(schema: Any, other: Any) -> bool:
    """Return whether a call of ``other`` gives by keyword alone, or may, what ``schema`` takes at a place before it."""
    places = {argument.name: place for place, argument in enumerate(other.positional)}
    places |= dict.fromkeys((argument.name for argument in other.keyword_only), len(places) + len(schema.positional))
    return any(places.get(argument.name, 0) > place for place, argument in enumerate(schema.positional))


def _requires_more(overload: Any) -> bool:
    """Return whether an overload requires an argument behind the first, none of them a tensor."""
    _, *rest = overload.schema.positional
    return any(not argument.has_default for argument in rest) and not any("Tensor" in str(each.type) for each in rest)


def _make_direct(operator: table.OverloadGroup, overload: Any) -> Callable[..., Any]:
    """Make a function that is an overload itself for calls that it takes as they stand; others are looked at."""
    find_general = _make_later(operator)
    positional = [(each.name, each.default if each.has_default else _MISSING) for each in overload.schema.positional]
    defaults = {each.name: each.default for each in overload.schema.keyword_only if each.has_default}
    star = positional.pop()[0] if operator.name in _SIZES else ""
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
    others = [getattr(packet, name) for name in packet.overloads()] if _requires_more(overload) and not star else []
    return dc.rename_arguments(
        overload,
        operator.name,
        Tensor,
        slow_path,
        names={"self": "input"} if first == "self" else {},
        missing=_MISSING,
        star=star,
        alone=next(filter(_takes_tensor_alone, others), None),
        with_out=None if star else _find_with_out(overload),
    )


def _make_unary(operator: table.OverloadGroup) -> Callable[..., Any]:
    """Make a function of one tensor that is the overload itself, but for the argument's name and ``out``."""
    overload = getattr(dc.ops.aten, operator.name).default
    find_general = _make_later(operator)

    def slow_path(input: Any, *, out: Any = None) -> Any:
        return overload(input) if out is None else find_general()(input, out=out)

    extra = {"out": None} if len(operator.schemas) > 1 else {}
    with_out = _find_with_out(overload) if extra else None
    return dc.rename_arguments(
        overload, operator.name, Tensor, slow_path, names={"self": "input"}, extra=extra, with_out=with_out
    )


def _find_with_out(overload: Any) -> Any:
    """Return the overload that takes the same arguments and ``out``, or None."""
    wanted = [(each.name, str(each.type), each.kwarg_only) for each in overload.schema.arguments]
    for name in overload.packet.overloads():
        if name.endswith("out"):
            found = getattr(overload.packet, name)
            *rest, last = found.schema.arguments
            own = [(each.name, str(each.type), each.kwarg_only) for each in rest]
            if last.name == "out" and str(last.type) == "Tensor(a!)" and own == wanted:
                return found
    return None


def _make_binary(operator: table.OverloadGroup) -> Callable[..., Any]:
    """Make a function that is the overload for two tensors itself, but for the arguments' names and ``out``.

    A tensor and a plain number go to their overload directly, and anything else to the packet.
    """
    packet = getattr(dc.ops.aten, operator.name)
    overloads = {name: getattr(packet, name) for name in packet.overloads()}
    tensors, numbers = BINARY_OVERLOADS[operator.name]
    find_general, number_first = _make_later(operator), NUMBER_FIRST.get(operator.name)
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

    number_out = any(name.endswith("Scalar_out") for name in overloads)
    extra = {name: default for name, default in defaults.items() if name not in own}
    names = {"self": "input"}
    # fmt: off
    function = dc.rename_arguments(
        tensors, operator.name, Tensor, slow_path, names=names, extra=extra, slow_path_types=PLAIN_NUMBERS,
        takes_more=operator.name in SCALED, with_out=_find_with_out(tensors) if "out" in extra else None,
    )
    # fmt: on
    return function


_MISSING: Final = object()
_QUOTIENTS: Final = ("div", "divide", "true_divide")
#: Functions that torch lets compute with two numbers.
_OF_NUMBERS: Final = frozenset("add div divide floor_divide mul multiply sub subtract true_divide".split())


def _make_like(number: Any, self: Tensor) -> Tensor:
    """Make a tensor of a number in the dtype that the number and ``self`` promote to; an integer beyond it wraps around."""
    found: Tensor = tensor(number, device=self.device)
    return found if isinstance(number, bool) else found.to(result_type(self, number))


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
    **dict.fromkeys(("sub", "subtract"), lambda number, self: FUNCTIONS["rsub"](self, number)),
    **dict.fromkeys(_QUOTIENTS, lambda number, self: FUNCTIONS["reciprocal"](self) * number),
}

_BINARY: Final = frozenset(
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor div eq fmod ge gt le logical_and"
    " logical_or logical_xor lt matmul maximum minimum mul ne pow remainder sub floor_divide add_ sub_ mul_ div_"
    " arctan2 divide greater greater_equal less less_equal multiply not_equal subtract true_divide".split()
)


def _find_binary(name: str) -> tuple[Any, Any]:
    packet = getattr(dc.ops.aten, name)
    listed = packet.overloads()
    tensors = next(each for each in ("Tensor", "Tensor_Tensor", "default") if each in listed)
    numbers = next((each for each in ("Tensor_Scalar", "Scalar") if each in listed), None)
    return getattr(packet, tensors), packet if numbers is None else getattr(packet, numbers)


#: The overloads of the binary functions for two tensors, and for a tensor and a plain number.
BINARY_OVERLOADS: Final = LazyTable(_find_binary, _BINARY)


def _make(operator: table.OverloadGroup) -> Callable[..., Any]:
    if operator.name in _BINARY:
        function = _make_binary(operator)
    elif operator.unary and operator.first == "self":
        function = _make_unary(operator)
    elif (main := _find_main(operator)) is not None:
        function = _make_direct(operator, main)
    else:
        function = _make_general(operator)
    function.__name__ = function.__qualname__ = operator.name
    function.__module__ = "torchlike"
    listed = "\n    ".join(operator.schemas)
    function.__doc__ = f"Source: ``torch.{operator.name}``.\n\n    {listed}\n"
    return function


def _is_visible(name: str) -> bool:
    return not (
        name in table.HIDDEN or name in FACTORIES or name.endswith(("_backward", "_backward_data", "_forward", "__"))
    )


_VISIBLE: Final = {name: operator for name, operator in table.read_operators().items() if _is_visible(name)}


def _make_plain(name: str) -> Callable[..., Any]:
    function = _make(_VISIBLE[name])
    for prefix, namespace in table.PREFIXES.items():
        if name.startswith(prefix):
            function.__name__ = function.__qualname__ = name.removeprefix(prefix)
            function.__module__ = f"torchlike.{namespace}"
    return function


def _make_function(name: str) -> Callable[..., Any]:
    plain, adapt = _PLAIN[name], ADAPTED.get(name) or OLDER.get(name)
    if adapt is None:
        return plain
    function = adapt(plain)
    function.__name__, function.__qualname__, function.__doc__ = name, name, plain.__doc__
    return function


def _make_method(name: str) -> Callable[..., Any]:
    if name in METHOD_FORMS:
        return METHOD_FORMS[name](FUNCTIONS[name])
    if name in OLDER and name not in FUNCTIONS:
        method = OLDER[name](_PLAIN[name])
        method.__name__, method.__qualname__, method.__doc__ = name, name, _PLAIN[name].__doc__
        return method
    return FUNCTIONS[name] if name in ADAPTED or name in OLDER else _PLAIN[name]


def _make_quick(name: str) -> Callable[..., Any]:
    operator = _VISIBLE[name]
    if name in _BINARY or (operator.unary and operator.first == "self"):
        return _PLAIN[name]
    raise KeyError(name)


def _select(wanted: Callable[[table.OverloadGroup], bool]) -> dict[str, None]:
    return {name: None for name, operator in _VISIBLE.items() if wanted(operator)}


def _namespace(prefix: str) -> LazyTable[Callable[..., Any]]:
    names = [name.removeprefix(prefix) for name in _VISIBLE if name.startswith(prefix)]
    return LazyTable(lambda name: _PLAIN[prefix + name], names)


#: Each of these functions is made when it is first looked up, and one object in all tables.
_PLAIN: Final[LazyTable[Callable[..., Any]]] = LazyTable(_make_plain, _VISIBLE)
FUNCTIONS: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    _make_function, _select(lambda operator: operator.is_function)
)
METHODS: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    _make_method, _select(lambda operator: operator.is_method) | dict.fromkeys(METHOD_FORMS)
)
#: Operators that are neither, for ``nn.functional``.
FUNCTIONAL: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    _PLAIN.__getitem__, _select(lambda operator: not (operator.is_function or operator.is_method))
)
#: Those of ``linalg``, ``fft`` and ``special``.
NAMESPACES: Final = {namespace: _namespace(prefix) for prefix, namespace in table.PREFIXES.items()}
#: The functions that go straight to an overload, for code that is generated.
QUICK: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    _make_quick, lambda: [name for name in _VISIBLE if name in QUICK]
)
