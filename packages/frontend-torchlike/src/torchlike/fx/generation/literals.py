"""Values and annotations as code.

Note [Literals in code]
    Plain values are written by their own type's ``repr``, never by one that a class of the program defines: numbers,
    strings and None, containers of such, dtypes, devices, layouts, members of enumerations. Every other object is the value
    of a global variable of the generated function, under a name made for it. So no object can put text into code.
"""

from __future__ import annotations

import enum
import importlib
import math
import re
import types
import typing
from collections.abc import Callable
from keyword import iskeyword
from typing import Any, Final

from dispatch_core.devices import Device

from ...names.spelling import spell
from ...tensors.tensor import Tensor
from ...values.dtypes import dtype, memory_format
from ...values.layouts import layout
from ..node import Node
from ..targets import find_path, is_overload, is_packet, qualified_name, type_text
from .namespace import UniqueNames

__all__ = ["CodeWriter", "custom_builtins", "is_name", "register_custom_builtin", "standard_globals", "write_path"]

_PLAIN: Final = (bool, int, float, complex, str, bytes)
#: Generic type of Python → the name in ``typing`` by which code writes it.
_ORIGINS: Final = {
    list: typing.List,  # noqa: UP006  # torch's code has these names
    dict: typing.Dict,  # noqa: UP006
    set: typing.Set,  # noqa: UP006
    frozenset: typing.FrozenSet,  # noqa: UP006
    tuple: typing.Tuple,  # noqa: UP006
}
_SIMPLE: Final = re.compile(r"[\w .\-]*")


#: Further global variables of all code, which programs register: name → the line that imports it, and the value.
custom_builtins: Final[dict[str, tuple[str, Any]]] = {}


def register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    """Give all code a global variable; ``import_str`` is the line that imports its value.

    >>> import math
    >>> register_custom_builtin("tau", "from math import tau", math.tau)
    >>> "tau" in standard_globals()
    True
    >>> del custom_builtins["tau"]
    """
    custom_builtins[name] = (import_str, obj)


def standard_globals() -> dict[str, tuple[str, Any]]:
    """Return the global variables that all code has: name → the line that imports it, and the value."""
    root = spell()
    module = importlib.import_module("torchlike")
    trees = importlib.import_module("torchlike.utils.pytree")
    flat = importlib.import_module("torchlike.fx._pytree")
    return {
        "inf": ("from math import inf", math.inf),
        "nan": ("from math import nan", math.nan),
        "NoneType": ("NoneType = type(None)", type(None)),
        root: (f"import {root}", module),
        "device": (f"from {root} import device", Device),
        "fx_pytree": (f"import {root}.fx._pytree as fx_pytree", flat),
        "pytree": (f"import {root}.utils.{'_pytree' if root == 'torch' else 'pytree'} as pytree", trees),
        **custom_builtins,
    }


def is_name(text: Any) -> bool:
    """Return whether a text is a name that code may have.

    >>> is_name("weight"), is_name("0"), is_name("class"), is_name("a; b")
    (True, False, False, False)
    """
    return type(text) is str and text.isidentifier() and not iskeyword(text)


def write_path(base: str, path: str) -> str:
    """Return the code of an attribute at a path below a value.

    >>> write_path("self", "layers.0.weight")
    'getattr(self.layers, "0").weight'
    """
    for part in path.split("."):
        if is_name(part):
            base = f"{base}.{part}"
        else:
            quoted = f'"{part}"' if _SIMPLE.fullmatch(part) else str.__repr__(part)
            base = f"getattr({base}, {quoted})"
    return base


class CodeWriter:
    """Writes values as code, and collects the global variables that the code needs; see Note [Literals in code]."""

    def __init__(self, namespace: UniqueNames, color: Callable[[str], str] = str) -> None:
        self.namespace = namespace
        self.globals: dict[str, Any] = {}
        self._color = color

    def add_standard_globals(self) -> None:
        """Add those that all code has."""
        for name, (_, value) in standard_globals().items():
            self.namespace.reserve(name, value)
            self.globals[name] = value

    def add_global(self, hint: str, value: Any) -> str:
        """Return the code of a function, class or other object: a path of this library's, or a global variable."""
        if (is_overload(value) or is_packet(value)) and getattr(value, "__module__", None):
            return qualified_name(value)
        if find_path(value) is not None and value is not Device:
            return qualified_name(value)
        name = self.namespace.create_name(hint, value)
        assert name not in self.globals or self.globals[name] is value or self.globals[name] == value, name
        self.globals[name] = value
        return name

    def write(self, value: Any) -> str:
        """Return a value as code."""
        if isinstance(value, Node):
            return repr(value)
        kind = type(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self.add_global(f'{kind.__module__}.{kind.__name__}', kind)}{self._write_tuple(value)}"
        if isinstance(value, tuple):
            return self._write_tuple(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self.write, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.write(key)}: {self.write(each)}" for key, each in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self.write(value.start)}, {self.write(value.stop)}, {self.write(value.step)})"
        return self._color(self._write_single(value))

    def _write_tuple(self, value: tuple[Any, ...]) -> str:
        return f"({', '.join(map(self.write, value))}{',' if len(value) == 1 else ''})"

    def _write_single(self, value: Any) -> str:
        """Return a value that is not a container as code."""
        kind = type(value)
        if value is None or value is ...:
            return "None" if value is None else "Ellipsis"
        if isinstance(value, (dtype, memory_format, layout, Device)):
            return repr(value)
        if isinstance(value, enum.Enum) and is_name(value.name):
            return f"{self.add_global(kind.__name__, kind)}.{value.name}"
        if kind is range:
            return repr(value)
        for plain in _PLAIN:
            if isinstance(value, plain):
                return str(plain.__repr__(value))
        if is_overload(value) or is_packet(value):
            return qualified_name(value)
        if isinstance(value, Tensor):
            return f"{spell()}.Tensor(size={list(value.shape)}, dtype={str(value.dtype).rpartition('.')[2]})"
        return self.add_global(getattr(value, "__name__", None) or f"{kind.__name__.lower()}_constant", value)

    def write_type(self, value: Any) -> str:
        """Return an annotation as code."""
        if value == ():
            return "()"
        if isinstance(value, types.UnionType):
            return "|".join(map(self.write_type, typing.get_args(value)))
        origin = getattr(value, "__origin__", None)
        if origin is None:
            return self.add_global(type_text(value), value)
        if isinstance(value, typing._GenericAlias):  # type: ignore[attr-defined]  # list[int] is none, and List[int] is one
            origin = _ORIGINS.get(origin, origin)
        name = self.add_global(type_text(origin), origin)
        args = getattr(value, "__args__", None) or typing.get_args(value)
        return f"{name}[{','.join(map(self.write_type, args))}]" if args else name

    def write_arguments(self, args: Any, kwargs: Any) -> str:
        """Return the arguments of a call as code."""
        named = {key: each for key, each in kwargs.items() if is_name(key)}
        others = {key: each for key, each in kwargs.items() if key not in named}
        written = [self.write(each) for each in args]
        written += [f"{key} = {self.write(each)}" for key, each in named.items()]
        if others:
            written.append(f"**{self.write(others)}")
        return ", ".join(written)
