"""The overloads that functions go to at once: the one that a function's plain calls mean, and others beside it."""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_core.caches import LazyTable

from ..names import operator_table as table

#: The overload of an operator with several that represents the function, where its plain calls fit no other one.
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

#: The functions of two operands that have ways of their own for two tensors, and for a tensor and a number.
BINARY: Final = frozenset(
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor div eq fmod ge gt le logical_and"
    " logical_or logical_xor lt matmul maximum minimum mul ne pow remainder sub floor_divide add_ sub_ mul_ div_"
    " arctan2 divide greater greater_equal less less_equal multiply not_equal subtract true_divide".split()
)


def takes_tensor_alone(overload: Any) -> bool:
    """Return whether an overload can be called with a tensor and nothing else."""
    first, *rest = overload.schema.arguments
    return str(first.type) in ("Tensor", "Tensor(a)") and all(argument.has_default for argument in rest)


def takes_sizes(overload: Any) -> bool:
    """Return whether an overload takes sizes behind its first argument."""
    arguments = overload.schema.positional
    return len(arguments) > 1 and str(arguments[1].type) in ("SymInt[]", "int[]")


def find_main(operator: table.OverloadGroup) -> Any:
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
        names = [*names[1:], names[0]] if requires_more(overloads[names[1]]) else names
    first, *others = names
    main = next((each for each in others if _takes_number_for_tensor(overloads[each], overloads[first])), first)
    own = overloads[main].schema
    _, *behind = own.arguments
    if any(argument.is_write for argument in behind):
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
    """Return whether a call of ``other`` may give by keyword an argument that ``schema`` takes at an earlier place."""
    places = {argument.name: place for place, argument in enumerate(other.positional)}
    places |= dict.fromkeys((argument.name for argument in other.keyword_only), len(places) + len(schema.positional))
    return any(places.get(argument.name, 0) > place for place, argument in enumerate(schema.positional))


def requires_more(overload: Any) -> bool:
    """Return whether an overload requires an argument behind the first, none of them a tensor."""
    _, *rest = overload.schema.positional
    return any(not argument.has_default for argument in rest) and not any("Tensor" in str(each.type) for each in rest)


def find_with_out(overload: Any) -> Any:
    """Return the overload that takes the same arguments and ``out``, or None.

    Where another one takes something else in a place that callers do not look at, it is the function that calls either.
    """
    wanted = [(each.name, str(each.type), each.kwarg_only) for each in overload.schema.arguments]
    places = [str(each.type) for each in overload.schema.positional]
    found, is_one = None, True
    for name in overload.packet.overloads():
        if name.endswith("out"):
            other = getattr(overload.packet, name)
            *rest, last = other.schema.arguments
            own = [(each.name, str(each.type), each.kwarg_only) for each in rest]
            if last.name == "out" and str(last.type) == "Tensor(a!)" and own == wanted:
                found = other
            theirs = [str(each.type) for each in other.schema.positional]
            is_one &= len(theirs) != len(places) or all(
                one in (two, "Tensor") for one, two in zip(places, theirs, strict=True)
            )
    return found if found is None or is_one else _call_either(found)


def _call_either(overload: Any) -> Any:
    """Return a function that calls an overload or, where it does not take the arguments, the one that does."""
    packet = overload.packet

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            return overload(*args, **kwargs)
        except dc.ArgumentError:
            return packet(*args, **kwargs)

    return function


def _find_binary(name: str) -> tuple[Any, Any]:
    packet = getattr(dc.ops.aten, name)
    listed = packet.overloads()
    tensors = next(each for each in ("Tensor", "Tensor_Tensor", "default") if each in listed)
    numbers = next((each for each in ("Tensor_Scalar", "Scalar") if each in listed), None)
    return getattr(packet, tensors), packet if numbers is None else getattr(packet, numbers)


#: The overloads of the binary functions for two tensors, and for a tensor and a plain number.
BINARY_OVERLOADS: Final = LazyTable(_find_binary, BINARY)
