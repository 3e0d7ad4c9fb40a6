"""Unique names of variables in a graph and in its code."""

from __future__ import annotations

import builtins
import re
from keyword import kwlist
from typing import Any, Final

__all__ = ["UniqueNames"]

#: Letters that a name cannot have.
_ILLEGAL: Final = re.compile("[^0-9a-zA-Z_]+")
#: A name, and the number that it may end in.
_NUMBERED: Final = re.compile(r"^([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?$")
#: Names that code itself uses, beside those of Python.
RESERVED: Final = ("inf", "nan", "NoneType", "torch", "torchlike", "device", "fx_pytree", "pytree")


class UniqueNames:
    """Names, each given once; an object that has one keeps it (source: ``torch.fx.graph._Namespace``).

    No name hides one of Python's, unless it names that very object.

    >>> names = UniqueNames()
    >>> names.create_name("add", None), names.create_name("add", None), names.create_name("2 x", None)
    ('add', 'add_1', '_2_x')
    >>> names.create_name("len", None), names.create_name("len", len)
    ('len_1', 'len')
    """

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    @staticmethod
    def _is_taken(name: str, obj: object) -> bool:
        """Return whether Python, or the code itself, gives a name another meaning."""
        return name in kwlist or name in RESERVED or (hasattr(builtins, name) and getattr(builtins, name) is not obj)

    def reserve(self, name: str, obj: Any) -> None:
        """Give an object a name that the code itself uses."""
        self._used_names.add(name)
        self._obj_to_name[_key(obj)] = name

    def create_name(self, candidate: str, obj: Any) -> str:
        """Return the object's name, or a new one that begins as the candidate does; None is not an object."""
        if obj is not None and _key(obj) in self._obj_to_name:
            return self._obj_to_name[_key(obj)]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        found = _NUMBERED.match(candidate)
        assert found is not None, candidate
        base, digits = found.groups()
        if digits is None or candidate in self._used_names:
            number = self._base_count.get(base, 0)
            if self._is_taken(candidate, obj):
                number += 1
                candidate = f"{base}_{number}"
        else:
            number = int(digits)
        while candidate in self._used_names:
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[_key(obj)] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Note that an object has a name."""
        assert self._obj_to_name.setdefault(_key(obj), name) is name, "obj is already associated"

    def _rename_object(self, obj: Any, name: str) -> None:
        """Note another name of an object that has one."""
        assert _key(obj) in self._obj_to_name, f"Object {obj} has no name in this namespace"
        self._obj_to_name[_key(obj)] = name
        self._used_names.add(name)


def _key(obj: Any) -> Any:
    """Return the object itself where it has a hash, and else its identity."""
    try:
        hash(obj)
    except TypeError:
        return id(obj), "identity"
    return obj
