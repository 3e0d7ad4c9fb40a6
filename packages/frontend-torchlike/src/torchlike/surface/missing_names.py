"""The names of torch that a program asks for in vain where torchlike stands in for it, for the report at its end."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Final

__all__ = ["describe_missing", "name_missing", "note_asked", "note_module", "note_use"]

#: The names of torch that a program asked for in vain.
_missing: Final[dict[str, None]] = {}
#: Those of them that are there by name only.
_used: Final[set[str]] = set()


def _list_missing() -> list[str]:
    """Return the names of torch that were asked for and are missing, in the order of asking."""
    missing = (name for name in _missing if name in _used or not _exists(name))
    return [*dict.fromkeys(name.replace(".nn.modules.", ".nn.") for name in missing)]


def describe_missing() -> list[str]:
    """Return the missing names with the nearest ones or the reason; errors of imports say neither."""
    from ..names.left_out import explain_missing

    lines = []
    for name in _list_missing():
        namespace, _, attribute = name.rpartition(".")
        # A use of a shell has raised an error with the reason.
        is_known = name not in _used and attribute and hasattr(sys.modules.get(namespace), "__path__")
        lines.append(name + (explain_missing(namespace.removeprefix("torch."), attribute) if is_known else ""))
    return lines


def _exists(name: str) -> bool:
    """Return whether a name that one module did not have is there after all, where the next one has it."""
    module, _, attribute = name.rpartition(".")
    # A module of ours may be there before the program has imported it under torch's name.
    owner = sys.modules.get(module) or sys.modules.get(f"torchlike{module.removeprefix('torch')}")
    return getattr(owner, attribute, None) is not None


def _to_torch(name: str) -> str:
    return "torch" + name.removeprefix("torchlike") if name.partition(".")[0] == "torchlike" else name


def note_asked(module: str, name: str) -> None:
    """Note a name that a module of ours does not have, unless Python or a test asks for it and not a program."""
    # Names of our own are asked of whatever a captured function uses.
    if not (name.startswith("__") and name.endswith("__")) and not name.startswith("_dispatch_"):
        _missing[f"{_to_torch(module)}.{name}"] = None


def note_module(name: str) -> None:
    """Note a module that is not there."""
    _missing[name] = None


def note_use(path: str) -> None:
    """Note a name of a shell that a program uses."""
    _missing[path] = None
    _used.add(path)


def name_missing(error: BaseException | None) -> None:
    """Note the names of torch that an error, or one behind it, says are missing."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, AttributeError) and error.name is not None:
            owner = error.obj if isinstance(error.obj, (ModuleType, type)) else type(error.obj)
            where = owner.__name__ if isinstance(owner, ModuleType) else f"{owner.__module__}.{owner.__qualname__}"
            if where.partition(".")[0] in ("torch", "torchlike"):
                note_asked(where, error.name)
        elif isinstance(error, ImportError) and (error.name or "").partition(".")[0] in ("torch", "torchlike"):
            _, found, rest = str(error).partition("cannot import name '")
            if found:
                note_asked(str(error.name), rest.partition("'")[0])
        error = error.__cause__ or error.__context__
