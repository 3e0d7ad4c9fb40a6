"""The API for tools and frontends that other distributions bring: commands, and the questions of a conformance kit.

A distribution brings a command of ``dispatch`` by an entry point of the group ``dispatch_core.tools``, its name and a
function of the arguments; a frontend announces by ``dispatch_core.frontends`` an object that says how tensors
are made and read.

>>> sorted(BRINGS)
['verify']
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NoReturn

from .discovery import loader
from .errors import BackendError, DevkitNotFoundError
from .plugins.import_rollback import import_object
from .surroundings.distributions import BACKENDS, COMPANIONS, FRONTENDS, TOOLS

if TYPE_CHECKING:
    from .devkit import Finding, examine
    from .runtime import DeviceInterface

__all__ = [
    "BRINGS",
    "CommandParser",
    "Finding",
    "Tool",
    "did_you_mean",
    "examine",
    "find_companions",
    "find_frontends",
    "find_interface",
    "find_plugin",
    "find_tool",
    "import_modules",
    "list_tools",
    "main",
    "program_name",
]

Tool = Callable[[Sequence[str]], int]
#: Commands that this project's other distributions bring, and their help.
BRINGS: Final = {
    "verify": "compare a device with the cpu, operator by operator (needs dispatch-operators-aten[testing])"
}
_HINTS: Final = {"verify": "pip install 'dispatch-operators-aten[testing]'"}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in ("Finding", "examine"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import devkit

        return getattr(devkit, name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command ``dispatch`` and return its exit status: 2, with a line on standard error, without dispatch-devkit."""
    try:
        from .devkit import main as run
    except DevkitNotFoundError as error:
        sys.stderr.write(f"{program_name()} needs dispatch-devkit: {error.hint}\n")
        return 2
    return run(arguments)


class CommandParser(argparse.ArgumentParser):
    """A parser that names the option which a misspelt one is nearest to."""

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return the parsed arguments; end the program, with status 2, for those that it does not take."""
        options, rest = self.parse_known_args(arguments)
        if rest:
            self.refuse(rest)
        return options

    def refuse(self, rest: Sequence[str]) -> NoReturn:
        """End the program, for arguments that it does not take."""
        hints = [did_you_mean(word.partition("=")[0], self._option_string_actions) for word in rest if word[:1] == "-"]
        hint = next(filter(None, hints), f"{self.prog} --help shows its arguments")
        self.error(f"unrecognized arguments: {' '.join(rest)}\nHint: {hint}")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question with the names that are nearest to one, or "" where none is near.

    >>> did_you_mean("docter", ["doctor", "list"])
    'did you mean doctor?'
    """
    near = get_close_matches(name, names, n=3)
    return f"did you mean {' or '.join(near)}?" if near else ""


def find_tool(name: str) -> Tool:
    """Return the function that runs a command with its arguments and gives the exit status.

    Raises ``BackendError`` where no installed distribution brings the command, or its requirements are not installed.
    """
    claim = loader().catalog.usable(TOOLS, name)
    hint = _HINTS.get(name)
    if claim is None:
        raise BackendError(f"No installed distribution brings the command {name!r}", hint=hint)
    try:
        tool: Any = import_object(claim.value)
    except ModuleNotFoundError as error:
        raise BackendError(f"The command {name!r} of {claim.distribution} needs {error.name}", hint=hint) from error
    found: Tool = tool
    return found


def list_tools() -> dict[str, str]:
    """Return the commands that installed distributions bring, each with the distribution that it comes from.

    >>> "verify" in list_tools() or "verify" in BRINGS
    True
    """
    catalog = loader().catalog
    claims = {name: catalog.usable(TOOLS, name) for name in catalog.names(TOOLS) if name not in BRINGS}
    return {name: f"(of {claim.distribution})" for name, claim in claims.items() if claim is not None}


def import_modules(names: Sequence[str], *, safe_path: bool = sys.flags.safe_path) -> None:
    """Import the modules that the option ``--import`` names, but for ``safe_path`` also from the current folder.

    The folder is the last on ``sys.path``: its files take the place of no module that is installed.
    Raises ``BackendError`` for one that there is not; an error of the module's own is passed on.
    """
    folder = os.getcwd()  # noqa: PTH109  # an entry is a string
    # `python -m` has put it first, a console script has not.
    if names and not safe_path and {"", folder}.isdisjoint(sys.path):
        sys.path.append(folder)
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise
            raise BackendError(
                f"--import {name}: there is no module {error.name!r}",
                hint="name a module that is installed: -P or PYTHONSAFEPATH keeps the current folder off sys.path"
                if safe_path
                else "name a module that is installed, or that lies in the current folder",
            ) from None


def program_name(script: str = "dispatch", module: str = "dispatch_core") -> str:
    """Return the command as its user has called it: by its console script's name, or ``python -m`` in any other way."""
    path = (sys.argv[0] if sys.argv else "").replace("\\", "/")
    name = path.rpartition("/")[2].removesuffix(".exe")
    return name if name == script else f"python -m {module}"


def find_companions() -> dict[str, str]:
    """Return the packages that answer imports beside a library that another one stands in for, by the imported names.

    Distributions name them by entry points of the group ``dispatch_core.companions``. Nothing is imported.

    >>> find_companions().get("torch_acme")
    """
    catalog = loader().catalog
    claims = {name: catalog.usable(COMPANIONS, name) for name in catalog.names(COMPANIONS)}
    return {name: claim.module for name, claim in claims.items() if claim is not None}


def find_frontends() -> dict[str, Any]:
    """Return the objects by which installed frontends say how tensors are made and read, by the frontends' names."""
    catalog = loader().catalog
    claims = {name: catalog.usable(FRONTENDS, name) for name in catalog.names(FRONTENDS)}
    return {name: import_object(claim.value) for name, claim in claims.items() if claim is not None}


def find_interface(device: str) -> DeviceInterface:
    """Return a device's interface, loading its backend; one without parts where the plugin has none.

    Raises ``BackendNotFoundError`` and ``BackendError`` where the backend cannot be loaded.

    >>> import dispatch_core as dc
    >>> with dc.register_backend(dc.BackendInfo("plain"), {}):
    ...     find_interface("plain").streams is None
    True
    """
    return loader().device_interface(device)


def find_plugin(device: str) -> str:
    """Return the name of the module that an installed device's plugin is; "" for one that the program has registered.

    >>> find_plugin("nowhere")
    ''
    """
    claim = loader().catalog.usable(BACKENDS, device)
    return "" if claim is None else claim.module
