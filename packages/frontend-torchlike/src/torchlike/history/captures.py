"""The calls of captured functions that are being recorded, for the places where tensors are read without an operator.

A replay runs no Python. So everything that Python keeps besides arrays (gradients, versions, nodes, the numbers of
optimizers) is told to the recording, which brings it about again, or refuses what it cannot; see `torchlike.capturing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from dispatch_core.calls import traits_of
from dispatch_core.frontends import CAPTURING, captured_part

from ..names.lazy_names import import_lazily

if TYPE_CHECKING:
    from ..capturing.part import CapturedState
else:
    CapturedState = import_lazily("torchlike.capturing.part", "CapturedState")

#: All optimizers: a recording compares their settings at its end with those at its beginning.
OPTIMIZERS: Final[WeakSet[Any]] = WeakSet()


def current_part() -> CapturedState | None:
    """Return the frontend's part in the captured call that runs here, or None."""
    return captured_part("torchlike") if CAPTURING else None


def see(tensor: Any) -> None:
    """Tell the recording of a tensor before it is read or changed without an operator."""
    if CAPTURING and (part := current_part()) is not None:
        part.recording.see(tensor)


def see_base(tensor: Any) -> None:
    """Tell the recording of a tensor whose history changes, and of the tensor that it is a view of."""
    if CAPTURING and (part := current_part()) is not None:
        part.see_base(tensor)


def see_gradient(tensor: Any) -> None:
    """Tell the recording of a tensor whose ``.grad`` is read or changed, and of the gradient."""
    if CAPTURING and (part := current_part()) is not None:
        part.see_gradient(tensor)


def see_module(module: Any) -> None:
    """Tell the recording of a module whose parts are read without calling it."""
    if CAPTURING and (part := current_part()) is not None:
        part.modules.see_tree(module)


def refuse(what: str, hint: str) -> None:
    """Raise ``CaptureError`` for something that a replay could not do, where a call is recorded."""
    if CAPTURING and (part := current_part()) is not None:
        part.recording.refuse(what, hint)


def check_hook(hook: Any, what: str) -> None:
    """Refuse a function of the user's, which a replay would not call, unless it was declared traceable."""
    if CAPTURING and not _is_traceable(hook):
        name = getattr(hook, "__qualname__", type(hook).__qualname__)
        # As the user can write it: neither a function without a name nor one of another function's has such a name.
        spelled = name.rpartition("<locals>.")[2]
        spelled = "function" if spelled == "<lambda>" else spelled
        refuse(
            f"{what} {name} is met",
            f"a replay repeats operators, and no side effects of Python. If {name} has none, mark it:"
            f" dispatch_core.capture.traceable({spelled})",
        )


def _is_traceable(hook: Any) -> bool:
    """Return whether a function, its class, or the function that it wraps or is a method with, was declared traceable."""
    while hook is not None:
        classes = hook.__mro__ if isinstance(hook, type) else type(hook).__mro__
        if any(traits_of(each).is_traceable for each in (hook, *classes)):
            return True
        hook = getattr(hook, "__func__", None) or getattr(hook, "__wrapped__", None)
    return False
