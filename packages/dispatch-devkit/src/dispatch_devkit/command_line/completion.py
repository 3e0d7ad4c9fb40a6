"""``dispatch completion``: the script by which a shell completes the command, written by shtab from the parsers.

The script is complete in itself: a shell that has read it starts no Python to complete a word. Names of devices are those
that are installed when it is written.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from dispatch_core import backends
from dispatch_core.errors import BackendError

from .program import COMMANDS, make_parser

EXAMPLE: Final = "completion bash >> ~/.bash_completion"
SHELLS: Final = ("bash", "zsh", "fish", "tcsh")
#: Commands with the destinations of arguments that name devices.
_DEVICES: Final = frozenset({("doctor", "names"), ("explain", "devices")})
#: Destinations of arguments that name files and folders.
_FILES: Final = frozenset({"output", "html", "chrome", "graph", "program"})
_FOLDERS: Final = frozenset({"directory"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}")


def run(options: argparse.Namespace) -> int:
    """Print the script for a shell; return 0."""
    print(make_script(options.shell))
    return 0


def make_script(shell: str) -> str:
    """Return the script for a shell; raises ``BackendError`` where shtab is not installed."""
    try:
        shtab = import_module("shtab")
    except ModuleNotFoundError as error:
        raise BackendError(
            f"the command 'completion' needs {error.name}", hint="pip install 'dispatch-devkit[completion]'"
        ) from None
    parser = make_parser(COMMANDS, program="dispatch")
    for name, command in parser.commands.choices.items():
        for action in command._actions:
            _offer(name, action, shtab)
    return str(shtab.complete(parser, shell=shell))


def _offer(command: str, action: Any, shtab: ModuleType) -> None:
    """Set the completion of an argument: a device, a file or a folder."""
    if (command, action.dest) in _DEVICES:
        action.choices = sorted(backends())
    elif action.dest in _FILES:
        action.complete = shtab.FILE
    elif action.dest in _FOLDERS:
        action.complete = shtab.DIRECTORY
