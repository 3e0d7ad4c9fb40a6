"""Calls as the levels handle them: all arguments in the schema's order, and tensors found by the schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dispatch_core import OperatorNotFoundError

from ..tensors import frontend
from .tensors import LevelData, data_of, make_data, wrap_value

__all__ = ["call_in_order", "map_tensors", "signature_of", "tensors_of", "wrap_results", "written_tensors"]


def signature_of(op: Any) -> Any:
    """Return the signature of an operator's calls; raises for an operator without a schema."""
    signature = op._entry.signature
    if signature is None:
        raise OperatorNotFoundError(
            f"{op.name} has no schema, so function transforms cannot tell its tensors",
            hint="define it with a schema: dispatch_core.Library.define",
        )
    return signature


def map_tensors(op: Any, function: Callable[[Any], Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a call's arguments with ``function`` applied to each tensor."""
    mapped: tuple[Any, ...] = signature_of(op).map_tensors(function, values)
    return mapped


def tensors_of(op: Any, values: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the tensors among a call's arguments."""
    return (tensor for _, tensor in signature_of(op).tensors(values))


def written_tensors(op: Any, values: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the tensors that a call writes to."""
    signature = signature_of(op)
    if signature.writes:
        for index, tensor in signature.tensors(values):
            if signature.parameters[index].writes:
                yield tensor


def call_in_order(op: Any, values: tuple[Any, ...]) -> Any:
    """Call an operator."""
    positional, keywords = signature_of(op).split(values)
    return op(*positional, **keywords)


def wrap_results(op: Any, kind: type[LevelData], level: Any, found: Any, values: tuple[Any, ...]) -> Any:
    """Return the results of a call as tensors of a level, as the schema says; ``values`` are the call's arguments.

    A written argument stands for itself, a view is one of the level's tensor, and other tensors are fresh.
    """
    signature = signature_of(op)
    if not signature.results:
        return found
    pairs = zip(signature.results, signature.unpack(found), strict=True)
    return signature.pack([_wrap(result, op, kind, level, each, values) for result, each in pairs])


def _wrap(result: Any, op: Any, kind: type[LevelData], level: Any, found: Any, values: tuple[Any, ...]) -> Any:
    if result.kind == "other":
        return found
    source = None if result.source < 0 else values[result.source]
    if result.kind == "self":
        return source
    base: Any = data_of(source) if result.kind == "view" else None
    if base is not None and base.level is level:
        if result.is_list:
            parts = [make_data(kind, each, level, base.is_captured) for each in found]
            return frontend.views(source, parts, op, values)  # type: ignore[misc]  # the frontend has the hook
        return frontend.view(source, make_data(kind, found, level, base.is_captured), op, values)  # type: ignore[misc]
    if result.is_list:
        return [None if each is None else wrap_value(kind, each, level) for each in found]
    return None if found is None else wrap_value(kind, found, level)
