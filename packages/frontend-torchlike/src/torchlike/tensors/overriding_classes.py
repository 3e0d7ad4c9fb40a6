"""Classes of tensors that override functions: which do, and the keys that their tensors have for it.

Note [Overriding classes]
    A class derived from `Tensor` overrides torch's functions unless its ``__torch_function__`` is `DISABLED`, as that of
    parameters is. Its tensors have the key ``TorchFunction`` in their masks, or ``Python`` where it has a
    ``__torch_dispatch__``. Neither is stored: the classes are derived from `overrides.subclasses.Overridable`, which
    stands between them and `Tensor`, and its ``_dispatch_mask`` adds the keys. So plain tensors and parameters pay nothing,
    and no code that hands masks on has to know of the keys. (A metaclass with an ``mro`` of its own would cost every class
    of tensors CPython's cache of attributes.) See Note [Functions that may be overridden] in `dispatch_core.calls`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_core.keys import DispatchKey

__all__ = [
    "ASK",
    "CLASSES",
    "COMPLETE",
    "DISABLED",
    "DISABLED_DISPATCH",
    "DISPATCHING",
    "ENTERED",
    "MODES",
    "PYTHON",
    "ROOT",
    "WRAPPED",
    "ask",
    "complete_bases",
    "is_wrapper",
    "read_slot_names",
    "read_slots",
]

CLASSES: Final = DispatchKey.TorchFunction.value
MODES: Final = DispatchKey.TorchFunctionMode.value
PYTHON: Final = DispatchKey.Python.value

#: Holds the function that asks for an override of a method, of a tensor and further arguments; `surface` puts it here.
ASK: Final[list[Callable[..., Any]]] = []

#: Not empty once a mode was entered: before, no call needs to look for one.
ENTERED: Final[list[bool]] = []


def ask(name: str, tensor: Any, *args: Any) -> Any:
    """Return the result of the override of a method of tensors, or ``NotImplemented`` where the class has none."""
    if type(tensor).__torch_function__ is DISABLED and not ENTERED:
        return NotImplemented
    return ASK[0](name, (tensor, *args))


#: The attribute of a tensor that wraps others, with the device that it names; see Note [Wrappers] in `overrides.dispatch`.
WRAPPED: Final = "_wrapped_device"


def is_wrapper(tensor: Any) -> bool:
    """Return whether a tensor has no elements of its own; see Note [Wrappers] in `overrides.dispatch`."""
    return WRAPPED in tensor.__dict__


class _NoOverride:
    """A class's ``__torch_function__`` or ``__torch_dispatch__`` that says that the class overrides nothing.

    Called all the same, it calls the function without overrides.
    """

    __slots__ = ("__name__", "_key")

    def __init__(self, name: str, key: str) -> None:
        self.__name__, self._key = name, key

    def __call__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        from dispatch_core import exclude_keys

        with exclude_keys(self._key):
            return func(*args, **(kwargs or {}))

    def __repr__(self) -> str:
        return f"<built-in method {self.__name__}>"

    def __reduce__(self) -> str:
        return "DISABLED" if self is DISABLED else "DISABLED_DISPATCH"


_NoOverride.__module__ = __name__
#: The ``__torch_function__`` of classes that override nothing (source: ``torch._C._disabled_torch_function_impl``).
DISABLED: Final = _NoOverride("_disabled_torch_function_impl", "TorchFunction")
#: The same for ``__torch_dispatch__`` (source: ``torch._C._disabled_torch_dispatch_impl``).
DISABLED_DISPATCH: Final = _NoOverride("_disabled_torch_dispatch_impl", "Python")


#: Not empty once a class has a ``__torch_dispatch__``.
DISPATCHING: Final[list[bool]] = []

#: Holds the class `Tensor`.
ROOT: Final[list[type]] = []
#: Holds the function that returns the class that adds keys, for the keys of a class's tensors; `surface` puts it here.
COMPLETE: Final[list[Callable[[int], type]]] = []


def complete_bases(bases: tuple[type, ...], namespace: dict[str, Any]) -> tuple[type, ...]:
    """Return the bases of a class of tensors, with the class that adds keys if the class needs one."""
    keys = 0
    if "__torch_dispatch__" in namespace and "__torch_function__" not in namespace:
        own = vars(ROOT[0])["__torch_function__"]
        if _find("__torch_function__", bases, {}) is own:
            # A class that handles operators handles functions, too, only where it says so.
            namespace["__torch_function__"] = DISABLED
    if _find("__torch_function__", bases, namespace) is not DISABLED:
        keys |= CLASSES
    if _find("__torch_dispatch__", bases, namespace) is not DISABLED_DISPATCH:
        keys |= PYTHON
    if not keys:
        return bases
    hidden = COMPLETE[0](keys)
    root = hidden.__base__
    if any(issubclass(each, hidden) for each in bases):
        return bases
    if root in bases:
        return tuple(hidden if each is root else each for each in bases)
    return (*bases, hidden)


def _find(name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
    """Return the attribute that a class will have, as it stands in it or in the first of its bases that has it."""
    if name in namespace:
        return namespace[name]
    default = vars(ROOT[0]).get(name) if ROOT else None
    found = [next((vars(kind)[name] for kind in base.__mro__ if name in vars(kind)), None) for base in bases]
    # `Tensor` stands behind all other bases.
    return next((each for each in found if each is not None and each is not default), default)


def read_slot_names(kind: type) -> frozenset[str]:
    """Return the names of the slots of a class of tensors that are not the tensors' own."""
    kinds = kind.__mro__[: kind.__mro__.index(ROOT[0])]
    slots = [(each,) if isinstance(each, str) else each for each in (vars(k).get("__slots__", ()) for k in kinds)]
    return frozenset(name for each in slots for name in each) - {"__dict__", "__weakref__"}


def read_slots(tensor: Any) -> dict[str, Any]:
    """Return the attributes of a tensor that its class has slots for."""
    return {name: getattr(tensor, name) for name in sorted(read_slot_names(type(tensor))) if hasattr(tensor, name)}
