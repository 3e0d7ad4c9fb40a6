"""The arguments and results of captured functions: containers, with tensors and constants in them.

A structure is written as source: lines that take arguments apart and return where one differs, and an expression that
makes results again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final
from weakref import ref

from dispatch_core.arrays import owners
from dispatch_core.arrays.layouts import find_layout
from dispatch_core.errors import CaptureError, short_repr

from ..program.guard_writer import GuardWriter, Names
from .live_numbers import LiveNumber

#: Types of constants that are equal by value.
_VALUES: Final = (int, bool, str, bytes, float, complex, slice, type(None))


def _is_value(kind: Any) -> bool:
    """Return whether objects of a type are equal by value, and stay so: they can be keys."""
    return kind.__eq__ is not object.__eq__ and kind.__hash__ is not None and kind.__hash__ is not object.__hash__


def _items_of(value: object) -> list[Any]:
    """Return the items of a container, in order; nothing for other objects."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return [*value]
    if isinstance(value, dict):
        return [*value, *value.values()]
    return [getattr(value, name) for name in _members_of(value)]


def is_tensor(value: object) -> bool:
    """Return whether a value is a frontend's tensor, a raw array, or represents one.

    A tensor of a layout is none here, but a container of its components; see Note [Tensors of a layout] in `layouts`.
    """
    return (type(value) in owners.ARRAY_TYPES or hasattr(value, "_dispatch_data")) and find_layout(value) is None


def tensors_in(value: object, place: str) -> Iterator[tuple[Any, str]]:
    """Yield the tensors in nested containers, each with its place as text."""
    if is_tensor(value):
        yield value, place
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from tensors_in(item, f"{place}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_in(item, f"{place}[{short_repr(key)}]")
    else:
        for name in _members_of(value):
            yield from tensors_in(getattr(value, name), f"{place}.{name}")


def layouts_in(value: object, is_given: Callable[[Any], object]) -> Iterator[Any]:
    """Yield the tensors of layouts in nested containers that have a state of their own, those left out that were given."""
    if hasattr(value, "_dispatch_data"):
        if find_layout(value) is not None and hasattr(value, "_autograd") and not is_given(value):
            yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from layouts_in(item, is_given)
    else:
        for name in _members_of(value):
            yield from layouts_in(getattr(value, name), is_given)


def _members_of(value: object) -> tuple[str, ...]:
    """Return the names of the attributes that a dataclass's object, or a tensor of a layout, is made of."""
    if hasattr(value, "_dispatch_data"):
        return () if find_layout(value) is None else ("_dispatch_mask", "_dispatch_data")
    if not is_dataclass(value) or isinstance(value, type):
        return ()
    return tuple([each.name for each in fields(value)])


def _is_fielded(value: object) -> bool:
    return bool(_members_of(value)) or (is_dataclass(value) and not isinstance(value, type))


#: Types of constants whose text is written.
_SIMPLE: Final = frozenset({int, bool, str, type(None)})


class Arguments(GuardWriter):
    """Writes the lines that take the arguments of a call apart, and return where one is not as it was.

    ``found`` are the names of the tensors by their places, and ``described`` names the compared objects.
    """

    def __init__(self, names: Names, otherwise: str) -> None:
        super().__init__(otherwise, names)
        self.found: dict[str, str] = {}
        self.described: dict[str, str] = {}
        #: id of an argument that is not a tensor, or of a part of one → its name, the object, and its items.
        self._given: dict[int, tuple[str, Any, list[Any]]] = {}
        #: id of a container that can be changed → its names and places.
        self._changeable: dict[int, list[tuple[str, str]]] = {}
        self._count = 0

    def write(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Write the lines for the names ``args`` and ``kwargs``."""
        self.check(f"len(args) != {len(args)}" + ("" if kwargs else " or kwargs"))
        self._take("args", args, [f"argument {index}" for index in range(len(args))])
        if kwargs:
            self._dict("kwargs", kwargs, "")
        self._tell_apart()

    def _tell_apart(self) -> None:
        """Write lines that see that the same containers are one object as before."""
        for (first, known), *others in self._changeable.values():
            for name, place in others:
                self.check(f"{name} is not {first}")
                self.described[place] += f", the one that is {known}"
        if len(self._changeable) > 1:
            each = ", ".join(f"id({names[0][0]})" for names in self._changeable.values())
            self.check(f"len({{{each}}}) != {len(self._changeable)}")

    def name_of(self, value: object) -> str | None:
        """Return the name of an argument that is not a tensor, or of a part of one; None if the call has changed it."""
        known = self._given.get(id(value))
        return known[0] if known is not None and self._is_unchanged(value) else None

    def _is_unchanged(self, value: object) -> bool:
        known = self._given.get(id(value))
        if known is None:
            return True
        items, before = _items_of(value), known[2]
        return len(items) == len(before) and all(
            one is other and self._is_unchanged(one) for one, other in zip(items, before, strict=True)
        )

    def _take(self, source: str, items: Any, places: list[str]) -> None:
        names = []
        for _ in items:
            names.append(f"a{self._count}")
            self._count += 1
        if names:
            self.lines.append(f"{', '.join(names)}, = {source}")
        for name, item, place in zip(names, items, places, strict=True):
            self._one(name, item, place)

    def _dict(self, source: str, value: dict[Any, Any], place: str) -> None:
        self.check(f"[*{source}] != {self.names.add([*value])}")
        names = [f"{place}[{short_repr(key)}]" if place else f"argument {key}" for key in value]
        self._take(f"{source}.values()", value.values(), names)

    def _one(self, name: str, value: object, place: str) -> None:
        if is_tensor(value):
            self.found[place] = name
            self.described[place] = "a tensor"
            return
        kind = type(value)
        if kind not in _SIMPLE:
            self._given.setdefault(id(value), (name, value, _items_of(value)))
            if isinstance(value, (list, dict, set)) or _is_fielded(value):
                self._changeable.setdefault(id(value), []).append((name, place))
        self.described[place] = f"{kind.__name__} {short_repr(value)}"
        if isinstance(value, (list, tuple)):
            self.described[place] = f"{kind.__name__} of {len(value)}"
            self.check(f"{name}.__class__ is not {self.names.add(kind)} or len({name}) != {len(value)}")
            self._take(name, value, [f"{place}[{index}]" for index in range(len(value))])
        elif isinstance(value, dict):
            self.described[place] = f"{kind.__name__} of {len(value)}"
            self.check(f"{name}.__class__ is not {self.names.add(kind)}")
            self._dict(name, value, place)
        elif _is_fielded(value) and any(True for _ in tensors_in(value, place)):
            self.check(f"{name}.__class__ is not {self.names.add(kind)}")
            members = _members_of(value)
            source = f"({''.join(f'{name}.{member}, ' for member in members)})"
            self._take(source, [getattr(value, each) for each in members], [f"{place}.{each}" for each in members])
        elif isinstance(value, (set, frozenset)):
            self.check(
                f"{name}.__class__ is not {self.names.add(kind)} or {name} != {self.names.add(frozenset(value))}"
            )
        elif isinstance(value, _VALUES) or _is_value(kind):
            self.check_constant(name, value)
        else:
            self.lines.append(f"if {self._reference(value)}() is not {name}: {self.missed}")

    def _reference(self, value: object) -> str:
        """Return the name of a function that returns an object, which it does not keep alive if that is possible."""
        reference: Callable[[], Any]
        try:
            reference = ref(value)
        except TypeError:

            def reference() -> Any:
                return value

        name = f"w{len(self.names.scope)}"
        self.names.scope[name] = reference
        return name


class Results:
    """Writes the expression that makes a function's result again, of the names of its tensors.

    ``known`` returns the name of an object that is not made again, such as a list of the arguments, or None.
    """

    def __init__(
        self,
        names: Names,
        name_of: Callable[[Any], str],
        number_of: Callable[[Any], str],
        known: Callable[[Any], str | None],
    ) -> None:
        self._names, self._name_of, self._number_of, self._known = names, name_of, number_of, known
        #: id of a layout's tensor that has been made → its name.
        self.made: dict[int, str] = {}

    def text(self, value: object) -> str:
        """Return the text for a result or a part of one."""
        if is_tensor(value):
            return self._name_of(value)
        if (name := self.made.get(id(value))) is not None:
            return name
        if isinstance(value, LiveNumber):
            return self._number_of(value)
        known = self._known(value)
        if known is not None:
            return known
        kind = type(value)
        if isinstance(value, (list, tuple)):
            items = [self.text(item) for item in value]
            if kind is list:
                return f"[{', '.join(items)}]"
            if kind is tuple:
                return f"({''.join(f'{item}, ' for item in items)})"
            made = self._names.add(getattr(kind, "_make", kind))
            return f"{made}(({''.join(f'{item}, ' for item in items)}))"
        if isinstance(value, dict):
            pairs = [(self._names.add(key), self.text(item)) for key, item in value.items()]
            if kind is dict:
                return f"{{{', '.join(f'{key}: {item}' for key, item in pairs)}}}"
            return f"{self._names.add(kind)}([{', '.join(f'({key}, {item})' for key, item in pairs)}])"
        if _is_fielded(value):
            self._names.scope["replaced"] = _make_dataclass
            items = [f"{name!r}: {self.text(getattr(value, name))}" for name in _members_of(value)]
            return f"replaced({self._names.add(kind)}, {{{', '.join(items)}}})"
        return self._names.add(value)


def _make_dataclass(kind: Any, members: dict[str, Any]) -> Any:
    """Return an object of a dataclass with these fields."""
    made = object.__new__(kind)
    for name, value in members.items():
        object.__setattr__(made, name, value)
    return made


def skeleton(value: object, describe: Callable[[Any], Any]) -> Any:
    """Return a result with the description of each tensor in its place, for comparing two results.

    Raises ``CaptureError`` for a generator or a coroutine, whose code runs later.
    """
    if is_tensor(value):
        return "tensor", describe(value)
    if isinstance(value, LiveNumber):
        return "live number"
    if isinstance(value, (list, tuple)):
        return type(value), [skeleton(item, describe) for item in value]
    if isinstance(value, dict):
        return type(value), [(key, skeleton(item, describe)) for key, item in value.items()]
    if _is_fielded(value):
        return type(value), [(name, skeleton(getattr(value, name), describe)) for name in _members_of(value)]
    if hasattr(value, "__next__") or hasattr(value, "__await__") or hasattr(value, "__anext__"):
        raise CaptureError(
            f"a captured function returns {short_repr(value)}, whose code would run after the recording",
            hint="return tensors, numbers and containers of them",
        )
    return value
