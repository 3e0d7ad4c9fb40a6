"""Compiled extensions: optional distributions, which fit by the number of a layout, or are refused by name."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from .._record import Record
from ..errors import BackendError
from .environment import parse_boolean
from .logs import Log

VARIABLE: Final = "DISPATCH_NATIVE"
ON: Final = "ok"
OFF: Final = "blocked"
REFUSED: Final = "refused"


class Extension(Record):
    """A compiled module that was looked for and is installed: its distribution, its name, its owner, its state, a sentence.

    The state is ``"ok"`` where it is on, ``"blocked"`` where the variable ``DISPATCH_NATIVE`` turns it off, and
    ``"refused"`` where anything else does.
    """

    distribution: str
    name: str
    owner: str
    state: str
    remark: str


_extensions: Final[dict[tuple[str, str], Extension]] = {}


def list_extensions() -> tuple[Extension, ...]:
    """Return the compiled modules that were looked for until now, without those that are not installed or not built."""
    return tuple(_extensions.values())


def find_extension(
    distribution: str, find: str, layout: int, owner: str, use: Callable[[Any], object], *, on: str, off: str
) -> tuple[Any, str]:
    """Return a distribution's compiled module, or None, and a sentence about it; "" where it is not installed or not built.

    The function ``find`` of its package returns the module, which carries the number of its ``layout``, as the distribution
    that takes it, the ``owner``, does; ``use`` is then called with it. The sentence is ``on``, or begins with ``off``. The
    variable ``DISPATCH_NATIVE`` turns all of them off; anything else that does is a warning, too. `list_extensions` has the
    result.

    >>> find_extension("dispatch-nowhere-native", "find", 1, "dispatch-core", print, on="it is on", off="it is off")
    (None, '')
    """
    module, state, reason = _look(distribution, find, layout, owner, use)
    remark = on if state == ON else f"{off}, because {reason}" if state else ""
    name = find.removeprefix("find_")
    if state:
        _extensions[distribution, name] = Extension(distribution, name, owner, state, remark)
    else:
        _extensions.pop((distribution, name), None)
    if state == REFUSED:
        Log("plugins").warning("%s", remark)
    return module, remark


def _look(distribution: str, find: str, layout: int, owner: str, use: Callable[[Any], object]) -> tuple[Any, str, str]:
    """Return the module, its state, "" where there is none, and the reason where it is off."""
    name, package, fault = distribution.replace("-", "_"), None, ""
    try:
        package = import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            return None, "", ""
        fault = _explain(distribution, name, error)
    except Exception as error:  # noqa: BLE001 - whatever it is, programs run without
        fault = _explain(distribution, name, error)
    text = os.environ.get(VARIABLE, "").strip()
    try:
        if text and not parse_boolean(VARIABLE, text, "it is read once in a program"):
            return None, OFF, f"{VARIABLE} is {text!r}"
    except BackendError as error:
        message = str(error).replace("The environment", "the environment").replace("\nHint:", ". Hint:")
        # As for other variables that cannot be read, the program is told; it runs without.
        warnings.warn(f"Compiled extensions are off, because {message}", RuntimeWarning, stacklevel=2)
        return None, REFUSED, message
    found = getattr(package, find, None)
    if found is None:
        return None, REFUSED, fault or f"{distribution} has no {find}. Hint: install it and {owner} in one version"
    try:
        module = found()
    except ModuleNotFoundError as error:
        if _is_unbuilt(package):
            return None, "", ""
        return None, REFUSED, _explain(distribution, name, error)
    except Exception as error:  # noqa: BLE001 - as above
        return None, REFUSED, _explain(distribution, name, error)
    has = getattr(module, "LAYOUT", None)
    if layout != has:
        carried = "no layout" if has is None else f"the layout {has}"
        return (
            None,
            REFUSED,
            f"{distribution} has {carried}, and this version of {owner} takes {layout}. Hint: install both in one version",
        )
    try:
        use(module)
    except Exception as error:  # noqa: BLE001 - as above
        return None, REFUSED, f"{distribution} cannot be used: {error}"
    return module, ON, ""


def _is_unbuilt(package: Any) -> bool:
    """Return whether a package is a folder of sources in C, of which nothing was compiled for any Python."""
    suffixes = {os.path.splitext(name)[1] for name in _files(package)}  # noqa: PTH122  # pathlib is not imported here
    return ".c" in suffixes and not suffixes & {".so", ".pyd"}


def _files(package: Any) -> list[str]:
    names: list[str] = []
    for folder in getattr(package, "__path__", ()):
        try:
            names += os.listdir(folder)  # noqa: PTH208  # as above
        except OSError:
            continue
    return sorted(names)


def _explain(distribution: str, package: str, error: Exception) -> str:
    """Return why a distribution's package or module cannot be imported."""
    if not isinstance(error, ModuleNotFoundError) or not (error.name or "").startswith(f"{package}."):
        return f"{distribution} cannot be imported: {error}"
    from importlib.machinery import EXTENSION_SUFFIXES  # only where something is wrong

    module = error.name or ""
    stem = module.rpartition(".")[2]
    others = [each for each in _files(sys.modules.get(package)) if each.partition(".")[0] == stem and each[-2:] != ".c"]
    there = f"there is {', '.join(others)}, and this Python" if others else "this Python"
    wants = f", which imports {EXTENSION_SUFFIXES[0]}" if stem.startswith("_") else ""
    version = ".".join(map(str, sys.version_info[:3]))
    return f"{distribution} has no module {module}: {there} is {version}{wants}. Hint: install it again"
