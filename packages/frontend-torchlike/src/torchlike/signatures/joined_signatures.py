"""Fewer signatures for the same calls: overloads that differ in the type of one argument are one function for users."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Final

from dispatch_core.signatures import Spelled

#: The order of types that stand beside each other.
_ORDER: Final = {"Tensor": 0, "Number": 1, "int": 2, "float": 3, "None": 5}


def join(signatures: Sequence[Signature]) -> list[Signature]:
    """Return signatures that take the calls of all that are given, and no others: none is covered by another.

    >>> from torchlike.signatures.function_signatures import read_signature
    >>> texts = "(x: Tensor, y: Tensor) -> Tensor", "(x: Tensor, y: Number) -> Tensor", "(x: Tensor) -> Tensor"
    >>> join([read_signature(text) for text in texts])
    [<Signature (x: Tensor, y: Tensor | Number) -> Tensor>, <Signature (x: Tensor) -> Tensor>]
    """
    left = list(dict.fromkeys(signatures))
    pairs = [(0, 1)] if len(left) > 1 else []
    while pairs:
        first, second = pairs.pop()
        merged = _merge(left[first], left[second])
        if merged is not None:
            left[first] = merged  # it may take in others now
            del left[second]
            first, second = 0, 0
        if second + 1 < len(left):
            pairs.append((first, second + 1))
        elif first + 2 < len(left):
            pairs.append((first + 1, first + 2))
    return left


def _merge(one: Signature, other: Signature) -> Signature | None:
    """Return one signature for the calls of two, or None where that one would take further calls."""
    if len(other.parameters) > len(one.parameters):
        one, other = other, one
    own, theirs = one.parameters, other.parameters
    shared = [each for each in own.values() if each.name in theirs]
    extra = [each for each in own.values() if each.name not in theirs]
    if (
        one.return_annotation != other.return_annotation
        or [(each.name, each.kind) for each in shared] != [(each.name, each.kind) for each in theirs.values()]
        or not all(map(_can_be_left_out, extra))
    ):
        return None
    pairs = [(_parts(each), _parts(theirs[each.name])) for each in shared]
    is_wider = all(mine >= its for mine, its in pairs)
    differing = sum(mine != its for mine, its in pairs)
    if not is_wider and (differing > 1 or any(each.name != "out" for each in extra)):
        return None
    try:
        return one.replace(parameters=[_unite(each, theirs.get(each.name)) for each in own.values()])
    except ValueError:  # an argument that must be given stands behind one that need not
        return None


def _can_be_left_out(parameter: Parameter) -> bool:
    """Return whether calls need not give an argument, or may give None by keyword, which comes to the same."""
    is_keyword = parameter.kind is Parameter.KEYWORD_ONLY
    return parameter.default is not Parameter.empty or (is_keyword and "None" in _parts(parameter))


def _unite(own: Parameter, other: Parameter | None) -> Parameter:
    """Return a parameter for the types of both; without the other, one that has a default."""
    if other is None:
        return own.replace(default=None) if own.default is Parameter.empty else own
    if own.annotation is Parameter.empty:  # the tensor of a method
        return own
    parts = dict.fromkeys([*own.annotation.split(" | "), *other.annotation.split(" | ")])
    annotation = Spelled(" | ".join(sorted(parts, key=lambda part: _ORDER.get(part, 4))))
    return own.replace(annotation=annotation, default=other.default if own.default is Parameter.empty else own.default)


def _parts(parameter: Parameter) -> frozenset[str]:
    return frozenset(() if parameter.annotation is Parameter.empty else parameter.annotation.split(" | "))
