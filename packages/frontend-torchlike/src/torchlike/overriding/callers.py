"""Which code has called an operator: a program, by a name below ``torch.ops``, or a function of ours."""

from __future__ import annotations

import sys
from typing import Any, Final

from dispatch_core.tracebacks import GENERATED, is_own_frame

_CORE: Final = "dispatch_core."


def leave_out_defaults(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of an overload's call but those that equal its defaults, which generated code fills in."""
    schema = getattr(op, "schema", None)
    if schema is None:  # a packet, which gets what the program gives
        return args, kwargs
    defaults = {each.name: each.value for each in schema.arguments if each.has_default}
    names = [each.name for each in schema.positional]
    while args and len(args) <= len(names) and _is_default(args[-1], defaults.get(names[len(args) - 1], op)):
        args = args[:-1]
    return args, {name: value for name, value in kwargs.items() if not _is_default(value, defaults.get(name, op))}


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and value == default)


def find_called(op: Any) -> Any:
    """Return the overload or the packet that a program has called, or None where a function of ours has called it.

    Asked for in the kernel of an operator; only calls that something overrides come there.
    """
    frame = sys._getframe(2)
    called = op
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(GENERATED) and not str(frame.f_globals.get("__name__")).startswith(_CORE):
            break
        if "packet" in code.co_freevars:
            called = frame.f_locals["packet"]
        frame = frame.f_back  # type: ignore[assignment]  # None at the end
    return None if frame is not None and is_own_frame(frame) else called
