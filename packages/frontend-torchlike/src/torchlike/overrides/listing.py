"""Which functions may be overridden, and their names; for tests of classes that override them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, wraps
from importlib import import_module
from typing import Any, Final

from ..overriding.table import read
from ..tensors.tensor import Tensor
from . import subclasses
from .questions import handle_torch_function, has_torch_function

__all__ = [
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

#: The table's namespaces that are modules, by the modules' names here.
_MODULES: Final = {
    "torch": "",
    "functional": "",
    "nn.functional": ".nn.functional",
    "nn.init": ".nn.init",
    "linalg": ".linalg",
    "fft": ".fft",
    "special": ".special",
}


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Return the functions whose results the default override leaves as they are (source: ``torch.overrides``).

    >>> import torchlike
    >>> torchlike.Tensor.grad.__get__ in get_default_nowrap_functions()
    True
    """
    return subclasses.get_default_nowrap_functions()


@lru_cache(maxsize=1)
def _list() -> tuple[dict[Any, list[Callable[..., Any]]], dict[Any, str]]:
    """Return the functions by namespace, and their full names."""
    found: dict[Any, list[Callable[..., Any]]] = {}
    names: dict[Any, str] = {}
    for section, path in _MODULES.items():
        module = import_module(f"torchlike{path}")
        members, own = found.setdefault(module, []), {*dir(module)}
        for name in read()[section]:
            value = getattr(module, name) if name in own else None  # a name in vain is reported
            if callable(value) and value not in names:
                members.append(value)
                names[value] = f"torch.{name}" if section == "torch" else f"torch.{section}.{name}"
    for word in read()["ignored"]:
        if "." not in word and word in {*dir(import_module("torchlike"))}:
            names.setdefault(getattr(import_module("torchlike"), word), f"torch.{word}")
        if word.startswith("Tensor.") and callable(value := getattr(Tensor, word.partition(".")[2], None)):
            names.setdefault(value, f"torch.{word}")
    methods = found[Tensor] = []
    for name in read()["Tensor"]:
        value = getattr(Tensor, name, None)
        if callable(value):
            methods.append(value)
            if not str(names.get(value, "torch.Tensor.")).startswith("torch.Tensor."):
                continue
            names[value] = f"torch.Tensor.{name}"  # the last one, where a method has several names, as in torch
    for word in read()["properties"]:
        name = word.partition(".")[0]
        value = getattr(Tensor, name, None)
        if isinstance(value, property):
            found[value] = [value.__get__]
            names[value.__get__] = f"torch.Tensor.{name}.__get__"
            names[value.__set__], names[value.__delete__] = (
                f"torch.Tensor.{name}.__set__",
                f"torch.Tensor.{name}.__delete__",
            )
    return found, names


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the functions that may be overridden, by the module or class that has them (source: ``torch.overrides``).

    Those of torch's that torchlike does not have are not in it.

    >>> import torchlike
    >>> torchlike.add in get_overridable_functions()[torchlike]
    True
    """
    left_out = import_module(f"torchlike{_MODULES['nn.init']}")
    return {namespace: list(functions) for namespace, functions in _list()[0].items() if namespace is not left_out}


def resolve_name(f: Any) -> str | None:
    """Return the full name of a function that may be overridden, by torch's paths (source: ``torch.overrides``).

    None for any other object.

    >>> import torchlike
    >>> resolve_name(torchlike.Tensor.shape.__get__)
    'torch.Tensor.shape.__get__'
    """
    packet = getattr(f, "name", None)
    if isinstance(packet, str) and "::" in packet:
        return packet.replace("::", ".")
    try:
        return _list()[1].get(f)
    except TypeError:
        return None


@lru_cache(maxsize=1)
def _list_methods() -> frozenset[Callable[..., Any]]:
    return frozenset(each for name, each in inspect.getmembers(Tensor, callable) if name != "__class__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether a function is a method of tensors, or gets or sets a property (source: ``torch.overrides``).

    >>> import torchlike
    >>> is_tensor_method_or_property(torchlike.Tensor.add), is_tensor_method_or_property(torchlike.add)
    (True, False)
    """
    return func in _list_methods() or getattr(func, "__name__", "") in ("__get__", "__set__", "__delete__")


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return the functions that cannot be overridden (source: ``torch.overrides.get_ignored_functions``).

    >>> import torchlike
    >>> torchlike.ones in get_ignored_functions()
    True
    """
    found = set()
    for word in read()["ignored"]:
        section, _, name = word.rpartition(".")
        owner = Tensor if section == "Tensor" else import_module(f"torchlike{_MODULES.get(section or 'torch', '')}")
        value = getattr(owner, name, None) if name in dir(owner) else None
        if callable(value):
            found.add(value)
    return found


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return a function of the same arguments for each function that may be overridden; it returns -1.

    (source: ``torch.overrides.get_testing_overrides``)

    >>> import inspect, torchlike
    >>> list(inspect.signature(get_testing_overrides()[torchlike.relu]).parameters)
    ['input']
    """
    functions = [each for members in _list()[0].values() for each in members if not isinstance(each, type)]
    return {each: _make_dummy(each) for each in functions}


def _make_dummy(function: Callable[..., Any]) -> Callable[..., Any]:
    if function.__name__ == "__get__":
        return lambda self: -1

    @wraps(function)
    def dummy(*args: Any, **kwargs: Any) -> int:
        return -1

    with suppress(ValueError):
        vars(dummy)["__signature__"] = inspect.signature(function)  # `inspect` looks for it
    return dummy


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a function of a program's overridable (source: ``torch.overrides``).

    ``dispatcher`` returns the arguments whose classes are asked, for the arguments of a call.

    >>> @wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            asked = dispatcher(*args, **kwargs)
            if has_torch_function(asked):
                return handle_torch_function(wrapper, asked, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapper

    return decorate
