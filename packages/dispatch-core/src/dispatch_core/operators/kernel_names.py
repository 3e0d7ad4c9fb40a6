"""How kernels are named to people: the function that computes, its file and line, and the types of arrays that it takes.

Note [The function behind a kernel]
    A kernel may be a wrapper, or a function that gets its code when it is first called. It is named by the function
    behind it: the one that ``functools.wraps`` names, or the result of its trait ``stands_for``, a function without
    arguments that returns the function, or its name and place where there is none. Nothing of it runs but that. A function
    that is made in another one is named with the functions of C that it holds: ``make_sum.<locals>.kernel of numpy.add``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..arrays.frontend import frontend_of
from ..arrays.owners import KEY_DEVICES, KEY_TYPES, where_to_find_type
from ..calls.traits import traits_of
from ..discovery import loader
from ..keys.table import DispatchKey
from .dispatch_table import COMPOSITES
from .registration import KernelFactory, Registration

if TYPE_CHECKING:
    from ..bookkeeping.origins import Origin
    from .entry import OperatorEntry

#: How many types a hint names.
_SHOWN: Final = 6

#: More wrappers than a program has; the walk through a circle of them ends.
_MOST: Final = 20


def kernel_name(fn: object) -> str:
    """Return the module and name of a kernel's function, or of its factory.

    >>> kernel_name(max)
    'builtins.max'
    """
    found = _unwrap(fn)
    if isinstance(found, tuple):
        return str(found[0])
    if isinstance(found, KernelFactory):
        name = kernel_name(found.make)
        # A kernel of tensors is made of the function that bears the name.
        return name if found.takes_tensors else f"made on first use by {name}"
    if hasattr(found, "func"):
        return f"partial of {kernel_name(found.func)}"
    if not hasattr(found, "__qualname__") and not hasattr(found, "__name__"):
        return f"an object of {type(found).__module__}.{type(found).__qualname__}"
    name = _spell(found)
    held = _list_held(found) if "<locals>" in name else []
    return f"{name} of {', '.join(held)}" if held else name


def _spell(fn: Any) -> str:
    """Return the module and name of a function; a method of a ufunc, which has no module, is named after that."""
    owner = getattr(fn, "__self__", None)
    if type(owner).__name__ == "ufunc":
        return f"{_spell(owner)}.{fn.__name__}"
    module = getattr(fn, "__module__", None) or type(fn).__module__
    return f"{module}.{getattr(fn, '__qualname__', None) or fn.__name__}"


def _list_held(fn: object) -> list[str]:
    """Return the names of the functions without Python code that a function holds, such as a ufunc of NumPy's."""
    found = []
    for cell in getattr(fn, "__closure__", None) or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not set yet
            continue
        is_function = callable(value) and not isinstance(value, type) and hasattr(value, "__name__")
        if is_function and not hasattr(value, "__code__"):
            found.append(_spell(value))
    return found


def kernel_place(fn: object) -> str:
    """Return the file and line of a kernel's function, or of its factory; "" where Python does not know.

    >>> kernel_place(max), kernel_place(kernel_place).rpartition(":")[0] == __file__
    ('', True)
    """
    found = _unwrap(fn)
    if isinstance(found, tuple):
        return str(found[1])
    if isinstance(found, KernelFactory):
        return kernel_place(found.make)
    if hasattr(found, "func"):
        return kernel_place(found.func)
    found = getattr(found, "__func__", found)
    code = getattr(found, "__code__", None)
    if code is None and not isinstance(found, type) and callable(found):
        code = getattr(type(found).__call__, "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def describe_kernel(key: DispatchKey, registration: Registration | None) -> str:
    """Return the text that names a kernel, its place, and the origin of its registration."""
    if registration is None:
        return f"No kernel for {key.label} is registered any more"
    return f"Kernel for {key.label}: {_place(registration.fn)}, registered by {registration.origin}"


def describe_planned_step(key: DispatchKey, run: Callable[..., Any], names: str) -> str:
    """Return the text that names a step that a device's plugin has planned for the operators ``names``."""
    name = KEY_DEVICES.get(key.backend, key.backend)
    state = loader().backends().get(name)
    whose = "" if state is None else f" of {state.source}"
    return f"Step planned by the plugin{whose} for device {name!r}: {_place(run)}, which runs {names}"


def _place(fn: object) -> str:
    """Return a kernel's name, and the file and line where its function stands, if it has one."""
    place = kernel_place(fn)
    return f"{kernel_name(fn)} ({place})" if place else kernel_name(fn)


def kernel_keys(entry: OperatorEntry) -> str:
    """Return the keys with a kernel and the origin of each, for error texts."""
    # Read once: another thread may be taking kernels back.
    active = [found[0] for found in entry._registrations.values() if not found[0].is_fallthrough]
    active.sort(key=lambda registration: -registration.key.rank)
    return ", ".join(f"{found.key.label} ({found.origin})" for found in active) or "no key at all"


def hint_at_types(entry: OperatorEntry | None, value: object, values: Sequence[object]) -> str:
    """Return a hint at the types of arrays that an operator takes instead of ``value``; "" where it would tell nothing.

    A frontend's tensors are told from others by their class alone, and so calls with them get none, nor do the operators
    of a library, which frontends call. Without an operator it names the distribution of a library's type alone.
    """
    kind = type(value)
    missing = where_to_find_type(kind)
    if missing or entry is None or any(frontend_of(each) is not None for each in values):
        return missing
    if loader().has_operators(entry.operator_name.namespace or ""):
        return ""
    taken = _taken_types(entry)
    more = f" and {len(taken) - _SHOWN} more" if len(taken) > _SHOWN else ""
    shown = f"{', '.join(taken[:_SHOWN])}{more}"
    active = [found[0] for found in entry._registrations.values() if not found[0].is_fallthrough]
    if active and all(each.takes_tensors for each in active):
        return "its kernels take the tensors of a frontend"
    if any(key in COMPOSITES for key in entry._registrations):
        return "it takes the arrays of every device" + (f", such as {shown}" if shown else "")
    named: set[type] = set().union(*(found[0].key.types for found in entry.for_types()))  # type: ignore[attr-defined]
    if shown and kind not in named:
        return f"it takes {shown}"
    if kind.__module__ == "builtins":
        return ""
    reason = "it belongs to no device" if shown else "no kernel is registered for it"
    return f"{reason}; ArrayType({kind.__qualname__}) makes a device's type of a class"


def _taken_types(entry: OperatorEntry) -> list[str]:
    """Return the types of arrays that an operator takes, each with the origin of its kernel.

    A composite takes the arrays of every device: these have the origin of the device.
    """
    found: dict[str, Origin | str] = {}
    for key, registrations in entry._registrations.items():
        active = registrations[0]
        if active.is_fallthrough or key is DispatchKey.Meta:
            continue
        if key.kind == "types":
            found[key.label] = active.origin
        for each in KEY_TYPES.get(key, ()):
            found[_type_name(each.type)] = active.origin
    if any(key in COMPOSITES for key in entry._registrations):
        states = loader().backends()
        for key, types in KEY_TYPES.items():
            state = states.get(KEY_DEVICES.get(key.backend, ""))
            for each in types if key is not DispatchKey.Meta else ():
                found.setdefault(_type_name(each.type), key.label if state is None else state.place or state.source)
    return [f"{name} ({place})" for name, place in found.items()]


def _type_name(cls: type) -> str:
    return cls.__qualname__ if cls.__module__ == "__main__" else f"{cls.__module__}.{cls.__qualname__}"


def _unwrap(fn: object) -> object:
    """Return the function behind a kernel; see Note [The function behind a kernel]."""
    for _ in range(_MOST):
        stands_for = traits_of(fn).stands_for
        further = stands_for() if callable(stands_for) else getattr(fn, "__wrapped__", None)
        if further is None:
            break
        fn = further
    return fn
