"""How kernels are named to people: the function that computes, its module, its file and its line.

Note [The function behind a kernel]
    A kernel may be a wrapper, or a function that gets its code when it is first called. It is named by the function
    behind it: the one that ``functools.wraps`` names, or the result of its attribute ``stands_for``, a function without
    arguments that returns the function, or its name and place where there is none. Nothing of it runs but that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .registration import KernelFactory

if TYPE_CHECKING:
    from .entry import OperatorEntry

#: More wrappers than a program has; the walk through a circle of them ends.
_MOST: Final = 20


def kernel_name(fn: Any) -> str:
    """Return the module and name of a kernel's function, or of its factory.

    >>> kernel_name(max)
    'builtins.max'
    """
    found = _unwrap(fn)
    if isinstance(found, tuple):
        return str(found[0])
    if isinstance(found, KernelFactory):
        return f"made on first use by {kernel_name(found.make)}"
    if hasattr(found, "func"):
        return f"partial of {kernel_name(found.func)}"
    name = getattr(found, "__qualname__", None) or getattr(found, "__name__", None)
    if name is None:
        return f"an object of {type(found).__module__}.{type(found).__qualname__}"
    # A NumPy ufunc has a name and no module; its class has one.
    module = getattr(found, "__module__", None) or type(found).__module__
    return f"{module}.{name}"


def kernel_place(fn: Any) -> str:
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


def kernel_keys(entry: OperatorEntry) -> str:
    """Return the keys with a kernel and the origin of each, for error texts."""
    # Read once: another thread may be taking kernels back.
    active = [found[0] for found in entry._registrations.values() if not found[0].is_fallthrough]
    active.sort(key=lambda registration: -registration.key.rank)
    return ", ".join(f"{found.key.label} ({found.origin})" for found in active) or "no key at all"


def _unwrap(fn: Any) -> Any:
    """Return the function behind a kernel; see Note [The function behind a kernel]."""
    for _ in range(_MOST):
        stands_for = getattr(fn, "stands_for", None)
        further = stands_for() if callable(stands_for) else getattr(fn, "__wrapped__", None)
        if further is None:
            break
        fn = further
    return fn
