"""Calls as the levels handle them: all arguments in the schema's order, and tensors found by the schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from dispatch_core.caches import keep
from dispatch_core.frontends import call_signature

from ..tensors.tensor import bare, frontend
from .stack import FRONT
from .tensors import LevelData, make_data, wrap_value


class CallShape:
    """Where the tensors of an operator's calls are; facts of a signature, looked up once."""

    __slots__ = ("call", "draws", "is_fresh", "keywords", "lists", "schema", "signature", "singles", "wraps", "writes")

    def __init__(self, op: Any) -> None:
        #: An operator whose schema changes has others.
        self.schema = op.schema
        signature = self.signature = call_signature(op)
        parameters = list(enumerate(signature.parameters))
        self.lists = tuple(index for index, each in parameters if "list" in each.tensors)
        self.singles = tuple(index for index, each in parameters if each.tensors and "list" not in each.tensors)
        self.writes = signature.writes
        #: A kind of records → `wrap_results` of the operator's calls.
        self.wraps: dict[type[LevelData], _Wrap] = {}
        self.keywords = tuple((index, each.name) for index, each in parameters if each.keyword_only)
        #: Calls the operator with all arguments by position.
        self.call: Callable[..., Any] = op if not self.keywords else self._make_call(op)
        #: Whether there is one result, a fresh tensor.
        results = signature.results
        self.is_fresh = len(results) == 1 and results[0].kind == "fresh" and not results[0].is_list
        #: Whether the operator may draw random numbers.
        self.draws = "nondeterministic_seeded" in op.tags

    def tensors_of(self, values: tuple[Any, ...]) -> list[Any]:
        """Return the tensors among a call's arguments."""
        found = [value for index in self.singles if (value := values[index]) is not None]
        for index in self.lists:
            found += [each for each in values[index] or () if each is not None]
        return found

    def map_tensors(self, function: Callable[[Any], Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a call's arguments with ``function`` applied to each tensor."""
        mapped = list(values)
        for index in self.singles:
            if (value := mapped[index]) is not None:
                mapped[index] = function(value)
        for index in self.lists:
            if (value := mapped[index]) is not None:
                mapped[index] = [None if each is None else function(each) for each in value]
        return tuple(mapped)

    def _make_call(self, op: Any) -> Callable[..., Any]:
        first, names = self.keywords[0][0], tuple(name for _, name in self.keywords)
        return lambda *values: op(*values[:first], **dict(zip(names, values[first:], strict=True)))

    def split(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return a call's arguments as positional and keyword arguments."""
        keywords = self.keywords
        if not keywords:
            return values, {}
        return values[: keywords[0][0]], {name: values[index] for index, name in keywords}


_SHAPES: Final[dict[Any, CallShape]] = {}
_KEPT: Final = 4096


def shape_of(op: Any) -> CallShape:
    """Return where an operator's tensors are; raises for an operator without a schema."""
    shape = _SHAPES.get(op)
    if shape is None or shape.schema is not op.schema:
        _SHAPES.pop(op, None)
        shape = keep(_SHAPES, op, CallShape(op), _KEPT)
    return shape


def map_tensors(op: Any, function: Callable[[Any], Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a call's arguments with ``function`` applied to each tensor."""
    return shape_of(op).map_tensors(function, values)


def tensors_of(op: Any, values: tuple[Any, ...]) -> list[Any]:
    """Return the tensors among a call's arguments."""
    return shape_of(op).tensors_of(values)


def written_tensors(op: Any, values: tuple[Any, ...]) -> Sequence[Any]:
    """Return the tensors that a call writes to."""
    writes = shape_of(op).writes
    if not writes:
        return ()
    found: list[Any] = []
    for index in writes:
        value = values[index]
        found += value if isinstance(value, (list, tuple)) else (value,)
    return [each for each in found if each is not None]


def call_in_order(op: Any, values: tuple[Any, ...]) -> Any:
    """Call an operator."""
    return shape_of(op).call(*values)


_Wrap: TypeAlias = Callable[[Any, Any, tuple[Any, ...]], Any]
"""A function of a level, of what a call returned and of the call's arguments; see `wrap_results`."""


def wrap_results(op: Any, kind: type[LevelData], level: Any, found: Any, values: tuple[Any, ...]) -> Any:
    """Return the results of a call as tensors of a level, as the schema says; ``values`` are the call's arguments.

    A written argument stands for itself, a view is one of the level's tensor, and other tensors are fresh.
    """
    return bind_wrapping(op, kind)(level, found, values)


def bind_wrapping(op: Any, kind: type[LevelData]) -> _Wrap:
    """Return `wrap_results` of an operator's calls."""
    shape = shape_of(op)
    return shape.wraps.get(kind) or shape.wraps.setdefault(kind, _make_wrapping(op, shape, kind))


def _make_wrapping(op: Any, shape: CallShape, kind: type[LevelData]) -> _Wrap:
    signature = shape.signature
    results = signature.results
    if shape.is_fresh:

        def wrap_fresh(level: Any, found: Any, values: tuple[Any, ...]) -> Any:
            if found is None:
                return None
            made = bare()  # as `wrap_value`
            data = made._dispatch_data = make_data(kind, found, level, False)
            made._dispatch_mask = data.keys | FRONT | frontend.marker
            return made

        return wrap_fresh
    if not results:
        return lambda level, found, values: found
    if len(results) == 1:
        return partial(wrap_result, results[0], op, kind)

    def wrap(level: Any, found: Any, values: tuple[Any, ...]) -> Any:
        pairs = zip(results, signature.unpack(found), strict=True)
        return signature.pack([wrap_result(result, op, kind, level, each, values) for result, each in pairs])

    return wrap


def wrap_result(result: Any, op: Any, kind: type[LevelData], level: Any, found: Any, values: tuple[Any, ...]) -> Any:
    """Return one result of a call as a tensor of a level, or a list of them; see `wrap_results`."""
    if result.kind == "other":
        return found
    source = None if result.source < 0 else values[result.source]
    if result.kind == "self":
        return source
    base = getattr(source, "_dispatch_data", None) if result.kind == "view" else None
    if isinstance(base, LevelData) and base.level is level:
        if result.is_list:
            parts = [make_data(kind, each, level, base.is_captured) for each in found]
            return frontend.views.views(source, parts, op, values)  # type: ignore[union-attr]  # the frontend has the hook
        return frontend.views.view(source, make_data(kind, found, level, base.is_captured), op, values)  # type: ignore[union-attr]
    if result.is_list:
        return [None if each is None else wrap_value(kind, each, level) for each in found]
    return None if found is None else wrap_value(kind, found, level)
